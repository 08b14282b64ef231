"""The ports of the graph: what it needs from whoever serves it."""
