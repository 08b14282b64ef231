"""The image-text model that ships: its files, and its card in README.md."""
