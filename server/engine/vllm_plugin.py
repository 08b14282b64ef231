"""vLLM's plugin, loaded in each of its processes: they live as long as the process that started them.

Not longer: however that one ended, they end at once. And not shorter: a Ctrl-C reaches every process of a terminal, and
the gateway answers it by a drain, in which running turns still need the engine.
"""

import multiprocessing
import os
import signal
import threading
from multiprocessing.process import BaseProcess


def end_with_parent() -> None:
    """Leave when the parent is gone, SIGKILL included, and not at Ctrl-C; do nothing in a process that nobody spawned.

    vLLM loads its plugins after it has set its own signal handlers and after the core's handshake with its parent,
    which gives up by itself after five minutes.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_leave_after, args=(parent,), daemon=True, name="end-with-parent").start()


def _leave_after(parent: BaseProcess) -> None:
    parent.join()
    # sys.exit would only end this thread, while the main one may wait for a peer that is gone.
    os._exit(1)
