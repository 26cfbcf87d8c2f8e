"""Detection of programs that define sinks but never call `execute`, so that nothing runs."""

from __future__ import annotations

import atexit
import sys
import weakref
from typing import Protocol

from millrace.engine.program_file import program_file

__all__ = ["note", "warning"]


class _Environment(Protocol):
    @property
    def unexecuted(self) -> int: ...


_environments: weakref.WeakSet[_Environment] = weakref.WeakSet()


def note(environment: _Environment) -> None:
    """Record that an environment has a sink; it is checked when the process ends."""
    if program_file() is None:  # a session may still want to execute it
        return
    if not _environments:
        atexit.unregister(_warn)
        atexit.register(_warn)
    _environments.add(environment)


def warning() -> str:
    """Warning for the end of the program; empty if all sinks were executed."""
    sinks = sum(environment.unexecuted for environment in _environments)
    if not sinks:
        return ""
    what = "a sink that was" if sinks == 1 else f"{sinks} sinks that were"
    return (
        f"the program has ended with {what} never executed, so this part of it has not run: call "
        "env.execute() when all streams and sinks are defined"
    )


def _warn() -> None:
    # after an error there is another reason
    text = "" if hasattr(sys, "last_value") else warning()
    if text and sys.stderr is not None:
        print(f"millrace: {text}", file=sys.stderr)
