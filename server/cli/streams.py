"""Standard streams. A shell or a supervisor may close them, and an encoding may lack characters."""

import io
import os
import sys

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def mend_streams() -> None:
    """Open /dev/null in the place of a closed stream, and escape characters that the output's encoding lacks.

    Python has None for a closed stream. The next file or socket would get the stream's number, and then what is meant
    for the terminal.
    """
    for name, mode in _STREAMS:
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115  # it stays open, and gets the lowest free number
            os.set_inheritable(stream.fileno(), True)  # as the other streams are
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Send what standard output still holds to /dev/null, because its reader has gone or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
