"""The live page: what runs do and did, on loopback."""
