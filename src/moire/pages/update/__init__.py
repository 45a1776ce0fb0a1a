"""Render updates: what is done to a page once it is shown."""
