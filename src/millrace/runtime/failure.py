"""From an exception to what a person needs: their traceback, the record, the operator."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType

from millrace.common.errors import MillraceError
from millrace.runtime.epoch import Failure
from millrace.runtime.operator import Operator

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_RECORD_LIMIT = 500


def describe_failure(error: BaseException, stage_name: str) -> Failure:
    """The failure of a subtask.

    Operators run over whole batches, so which record it was is read from the frames of the
    traceback: the loops of all operators call their record ``value``.
    """
    frames = list(_frames(error.__traceback__))
    operator = stage_name
    record = None
    for frame in frames:
        owner = _owner(frame)
        if owner is not None:
            operator = owner.context.name
        if _ours(frame) and "value" in frame.f_locals:
            record = _shown(frame.f_locals["value"])
    return Failure(operator, record, _user_traceback(error))


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _owner(frame: FrameType) -> Operator | None:
    owner = frame.f_locals.get("self")
    return owner if isinstance(owner, Operator) and hasattr(owner, "context") else None


def _ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__qualname__} whose repr fails: {error}>"
    return text if len(text) <= _RECORD_LIMIT else text[: _RECORD_LIMIT - 3] + "..."


def _user_traceback(error: BaseException) -> str:
    """The traceback without our own frames, unless nothing else is in it."""
    report = traceback.TracebackException.from_exception(error)
    users = [line for line in report.stack if not line.filename.startswith(_PACKAGE)]
    if not users and isinstance(error, MillraceError):
        return str(error)
    if users:
        report.stack = traceback.StackSummary.from_list(users)
    return "".join(report.format())
