"""Whose turn is next. Pure: no clock, no loop, no I/O."""
