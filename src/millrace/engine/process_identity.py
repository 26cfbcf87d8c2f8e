"""Which process on which machine, so that its death can be told for certain."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path

__all__ = ["has_died", "process_space"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


@cache
def process_space() -> str:
    """Names what process ids are unique in: this machine since it was started, and the container.
    Nothing where the system does not tell (only Linux does)."""
    with contextlib.suppress(OSError):
        return f"{_BOOT.read_text().strip()}/{os.readlink(_NAMESPACE)}"
    return ""


def has_died(space: str, pid: int) -> bool:
    """Whether a process has certainly ended; False if nobody here can tell."""
    if not space or space != process_space():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
