"""Bytes in, spans of tokens out. Knows neither gRPC nor policy; usable from a notebook."""
