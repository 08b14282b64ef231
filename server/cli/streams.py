"""Standard streams, which a shell or a supervisor may close, fill up or give a narrow encoding."""

import io
import os
import sys

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def mend_streams() -> None:
    """Put /dev/null where a stream is closed, and let output escape the characters that its encoding lacks.

    Python has None for a closed stream, and the next file or socket to be opened would take its number: what is meant
    for the terminal would then go there.
    """
    for name, mode in _STREAMS:
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115  # open as long as the process; takes the lowest free number
            os.set_inheritable(stream.fileno(), True)  # as the other streams are
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Send what is still buffered for standard output to /dev/null: its reader has gone, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
