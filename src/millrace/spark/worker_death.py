"""Death of a Python worker, from Spark's message: the Spark stage, and the code that ran.

Python's faulthandler writes the stack of a worker that dies of a signal such as SIGSEGV, and Spark
puts it into its message. Of one that ends itself (``os._exit``), or that the system kills because
memory has run out, only the stage is known.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

__all__ = ["WorkerDeath", "worker_death"]

_DEATH = re.compile(r"Task \d+ in stage (\d+)\.\d+ failed.*?Python worker exited", re.DOTALL)
_REASON = re.compile(r"Fatal Python error: (.+)")
_STACK = re.compile(r"Current thread .*\n((?:  File .*\n?)+)")
_OURS = os.path.join("millrace", "runtime") + os.sep
_MOST_FRAMES = 20


@dataclass(frozen=True, slots=True)
class WorkerDeath:
    """Stage and cause of a worker's death."""

    stage: int
    """Spark's number of the stage."""
    reason: str
    """The signal, and the user's frames, innermost first."""


def worker_death(message: str) -> WorkerDeath | None:
    """The death of a worker that Spark's message reports; None if the message reports something
    else.

    Example:
        >>> worker_death("Task 0 in stage 4.0 failed 4 times: Python worker exited unexpectedly")
        WorkerDeath(stage=4, reason='it ended itself, or was killed: the machine may lack memory')
    """
    died = _DEATH.search(message)
    if died is None:
        return None
    reason = _REASON.search(message)
    if reason is None:
        why = "it ended itself, or was killed: the machine may lack memory"
        return WorkerDeath(int(died[1]), why)
    stack = _STACK.search(message)
    frames = _users(stack[1].splitlines()) if stack is not None else []
    return WorkerDeath(int(died[1]), "\n".join([reason[1], *frames]))


def _users(frames: list[str]) -> list[str]:
    """The innermost frames, up to the first one of millrace."""
    ours = (number for number, frame in enumerate(frames) if _OURS in frame)
    return frames[: min(next(ours, len(frames)), _MOST_FRAMES)]
