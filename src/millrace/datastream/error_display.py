"""How Python shows the error of a user's function that ends a program: their traceback first."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

from millrace.common.errors import UserFunctionError
from millrace.engine.failure_hints import failure_hint

__all__ = ["show_user_errors_first"]

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def show_user_errors_first() -> None:
    """From now on; a hook that somebody else has installed stays."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, UserFunctionError):
        sys.__excepthook__(kind, error, trace)
        return
    frames = [f for f in traceback.extract_tb(trace) if not f.filename.startswith(_PACKAGE)]
    frames = [f for f in frames if f"{os.sep}concurrent{os.sep}futures{os.sep}" not in f.filename]
    where = "".join(traceback.StackSummary.from_list(frames).format())
    hint = failure_hint(error.user_traceback)
    print(f"{error}\n{hint}\nthe job was run from\n{where}", end="", file=sys.stderr)
