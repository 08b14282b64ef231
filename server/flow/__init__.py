"""Whose turn it is, and how much may be spent."""
