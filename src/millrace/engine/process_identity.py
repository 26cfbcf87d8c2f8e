"""Identity of a process and its machine, so that its death can be determined with certainty."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path

__all__ = ["descendants", "has_died", "process_space"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


@cache
def process_space() -> str:
    """Name of the space in which process ids are unique: the boot of this machine and the
    container. Empty on systems other than Linux, which lack this information.
    """
    with contextlib.suppress(OSError):
        return f"{_BOOT.read_text().strip()}/{os.readlink(_NAMESPACE)}"
    return ""


def has_died(space: str, pid: int) -> bool:
    """Whether a process has certainly ended; False if this process cannot know."""
    if not space or space != process_space():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def descendants(pid: int) -> list[int]:
    """Ids of the processes that a process of this machine has started, directly or indirectly.
    Empty on systems other than Linux.

    Example:
        >>> os.getpid() in descendants(os.getppid()) or not process_space()
        True
    """
    started: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for directory in os.scandir("/proc"):
            if directory.name.isdigit():
                started.setdefault(_parent(directory.path), []).append(int(directory.name))
    processes: list[int] = []
    pending = [pid]
    while pending:
        children = started.get(pending.pop(), [])
        processes += children
        pending += children
    return processes


def _parent(directory: str) -> int:
    try:
        # the name, in brackets, may have brackets and blanks itself
        return int(Path(directory, "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):  # it has ended meanwhile
        return -1
