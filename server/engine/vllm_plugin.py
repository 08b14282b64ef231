"""vLLM's plugin, loaded in each of its processes: they end with the process that started them, however that ended."""

import multiprocessing
import os
import threading
from multiprocessing.process import BaseProcess


def end_with_parent() -> None:
    """Leave at once when the parent is gone, SIGKILL included; does nothing in a process that nobody spawned.

    vLLM loads its plugins after the core's handshake with its parent, which gives up by itself after five minutes.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent,), daemon=True, name="end-with-parent").start()


def _leave_after(parent: BaseProcess) -> None:
    parent.join()
    # Not sys.exit: that would only end this thread, and the main one may be waiting for a peer that is gone.
    os._exit(1)
