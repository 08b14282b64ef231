"""The command line: `headworks`. Its client half needs the base install only."""

from headworks.server.cli.app import main, run

__all__ = ["main", "run"]
