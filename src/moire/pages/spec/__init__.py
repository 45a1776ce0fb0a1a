"""The web's own specifications as data."""
