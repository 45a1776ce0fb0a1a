"""The web-platform-tests' own forms: reftests, to write and to run."""
