"""Measurements that a reader can run; each prints a table, with the ceiling in the same run."""
