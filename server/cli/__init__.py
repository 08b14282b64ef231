"""The command line: `headworks`. Its client half needs the base install only."""

import os
import signal
import sys

from headworks.server.cli.streams import mend_streams


def main() -> None:
    """Run the command line and leave with its exit code. What it needs is imported here, which Ctrl-C may end too."""
    mend_streams()
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # else its core writes lines of its own between ours
    try:
        from headworks.server.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT  # as shells count, and `mistake.INTERRUPTED`
    sys.exit(code)
