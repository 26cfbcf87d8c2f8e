"""Crash hooks: named points at which a fault test ends this process or fills its disk.

They do nothing unless the environment variable ``MILLRACE_CRASH`` names them when this module is
imported. Workers inherit the variable, so it reaches them too. It is a comma-separated list of

- ``name:count``: kill this process with SIGKILL when it passes that place for the count-th time;
- ``name:count:raise``: raise an ``OSError`` there, as if the disk were full.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Mapping

from millrace.common.errors import ConfigurationError

__all__ = ["VARIABLE", "crash_point"]

VARIABLE = "MILLRACE_CRASH"

_Traps = Mapping[tuple[str, int], bool]
"""Whether a crash point raises an error instead of ending the process, by its name and count."""


def crash_point(name: str) -> None:
    """Mark a point at which a fault test may end this process; without such a test it has no
    effect.

    Raises:
        OSError: (ENOSPC) a test injects a full disk here.
    """
    if _TRAPS:
        _pass(name)


def _pass(name: str) -> None:
    with _LOCK:
        _passed[name] += 1
        count = _passed[name]
    raises = _TRAPS.get((name, count))
    if raises is None:
        return
    if raises:
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} (injected at {name})")
    os.kill(os.getpid(), signal.SIGKILL)


def _parse(text: str) -> _Traps:
    return dict(_parse_trap(item) for item in text.split(",") if item.strip())


def _parse_trap(item: str) -> tuple[tuple[str, int], bool]:
    name, _, rest = item.strip().partition(":")
    count, _, action = rest.partition(":")
    if not name or not count.isdecimal() or int(count) < 1 or action not in ("", "raise"):
        raise ConfigurationError(
            f"{VARIABLE} has the item {item.strip()!r}; write name:count or name:count:raise, "
            "with a count from 1 on"
        )
    return (name, int(count)), action == "raise"


_TRAPS = _parse(os.environ.get(VARIABLE, ""))
_LOCK = threading.Lock()
_passed: Counter[str] = Counter()
