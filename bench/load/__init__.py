"""A closed loop of callers in processes of their own, and what became of each of their calls."""
