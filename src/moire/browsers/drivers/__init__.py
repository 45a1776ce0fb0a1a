"""One file an engine, all behind the protocol of `base`."""
