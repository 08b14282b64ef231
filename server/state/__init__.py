"""Figures that several gateways may share: what is left of each rate, and which turns run."""
