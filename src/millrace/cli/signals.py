"""Handling of Ctrl-C and SIGTERM while nothing else handles them: prints a sentence, and exits with
the signal's exit code.

This module is imported before everything else of the command, so it must stay small.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

__all__ = ["INTERRUPTED", "TERMINATED", "Terminated", "raising_terminated", "terminate"]

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C."""
TERMINATED = 128 + signal.SIGTERM
"""Exit code after SIGTERM."""


class Terminated(SystemExit):
    """The process got SIGTERM, and ends.

    The program is unwound as by Ctrl-C, so that jobs are cancelled and temporary files removed.
    """

    def __init__(self) -> None:
        super().__init__(TERMINATED)

    def __str__(self) -> str:
        return "ended by SIGTERM"


def terminate(number: int, frame: FrameType | None) -> None:
    """Handler of SIGTERM: raise `Terminated`."""
    raise Terminated


@contextmanager
def raising_terminated() -> Iterator[None]:
    """Context in which SIGTERM raises `Terminated`, unless the program handles the signal."""
    own = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not own or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
