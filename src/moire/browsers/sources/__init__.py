"""Where builds come from: one file a source."""
