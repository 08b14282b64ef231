"""The held-out test of document kinds: 16 pictures of each of 12 kinds, and the scripts that drew them."""
