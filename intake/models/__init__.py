"""The model store: models built from packages or official sources, each with the SHA-256 of every file."""
