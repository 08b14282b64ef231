"""The port to the engine, and its adapters, named by technology."""
