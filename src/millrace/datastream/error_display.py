"""Display of errors that end a program. The lines of the user's program come first."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

from millrace.common.errors import MillraceError, UserFunctionError
from millrace.engine.failure_hints import failure_hint
from millrace.runtime.failure import is_library

__all__ = ["show_user_errors_first"]

_SPARKS = tuple(os.sep + name + os.sep for name in ("py4j", "pyspark"))
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def show_user_errors_first() -> None:
    """Install the display from now on. If another program has installed a hook, that hook stays."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    where = _text(_users(traceback.extract_tb(trace)))
    if isinstance(error, UserFunctionError):
        hint = failure_hint(error.user_traceback)
        print(f"{error}\n{hint}\nthe job was run from\n{where}", end="", file=sys.stderr)
    elif isinstance(error, KeyboardInterrupt):
        print(f"Traceback (most recent call last):\n{where}KeyboardInterrupt", file=sys.stderr)
    elif isinstance(error, MillraceError):
        print(_without_ours(error), end="", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def _without_ours(error: MillraceError) -> str:
    """Text of the error and of its causes in the user's code, without the many frames of
    millrace, py4j and Java."""
    report = traceback.TracebackException.from_exception(error)
    part = report
    while True:
        part.stack = _users(part.stack)
        cause = part.__cause__ or (None if part.__suppress_context__ else part.__context__)
        if cause is None or not _users(cause.stack):
            part.__cause__ = part.__context__ = None
            return "".join(report.format())
        part = cause


def _users(frames: traceback.StackSummary) -> traceback.StackSummary:
    """The user's frames, without millrace's and those between millrace and the program."""
    users = [
        frame
        for frame in frames
        if not (frame.filename.startswith(_PACKAGE) or is_library(frame.filename))
        and not any(part in frame.filename for part in _SPARKS)
    ]
    return traceback.StackSummary.from_list(users)


def _text(frames: traceback.StackSummary) -> str:
    return "".join(frames.format())
