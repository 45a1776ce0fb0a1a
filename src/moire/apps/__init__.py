"""Web applications: the same session in every browser, and what is different elsewhere."""
