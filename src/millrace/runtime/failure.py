"""Failure reports: the user's traceback, the record and the operator of an exception."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType

from millrace.common.errors import MillraceError
from millrace.common.similar_names import attribute_hint
from millrace.runtime.epoch import Failure
from millrace.runtime.exchange import CustomExchange, KeyedExchange
from millrace.runtime.operator import Operator

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
_RECORD_LIMIT = 500
TEXT_LIMIT = 64 * 1024
"""Maximum number of characters of a traceback. All acknowledgements of an epoch go through one
connection."""


def describe_failure(error: BaseException, stage_name: str) -> Failure:
    """Describe an exception as the failure of a subtask.

    Operators run over whole batches, so which record it was is read from the frames of the
    traceback: the loops of all operators call their record ``value``. A record that an operator
    further up the chain was processing does not count, nor does anything below the first frame of
    the user's code.
    """
    operator, record = stage_name, None
    owner: object = None
    in_user_code = False
    for frame in _frames(error.__traceback__):
        running_owner = _owner(frame)
        if running_owner is not None and running_owner is not owner:
            owner, record, in_user_code = running_owner, None, False
            operator = _name(running_owner)
        in_user_code = in_user_code or not _ours(frame)
        if not in_user_code and "value" in frame.f_locals:
            record = _shown(frame.f_locals["value"])
    return Failure(operator, record, _user_traceback(error))


def operator_of(frame: FrameType) -> str | None:
    """Name of the innermost operator that a running thread executes. None if the thread executes no
    operator.
    """
    owner = owner_of(frame)
    return None if owner is None else _name(owner)


def owner_of(frame: FrameType) -> Operator | KeyedExchange | CustomExchange | None:
    """Innermost operator or exchange that a running thread executes. None if the thread executes
    neither.
    """
    inner: FrameType | None = frame
    while inner is not None:
        owner = _owner(inner)
        if owner is not None:
            return owner
        inner = inner.f_back
    return None


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _owner(frame: FrameType) -> Operator | KeyedExchange | CustomExchange | None:
    owner = frame.f_locals.get("self")
    if isinstance(owner, (KeyedExchange, CustomExchange)) or (
        isinstance(owner, Operator) and hasattr(owner, "context")
    ):
        return owner
    return None


def _name(owner: Operator | KeyedExchange | CustomExchange) -> str:
    return owner.context.name if isinstance(owner, Operator) else owner.name


def _ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except BaseException as error:  # the failure is another one
        text = f"<{type(value).__qualname__} whose repr fails: {error}>"
    return text if len(text) <= _RECORD_LIMIT else text[: _RECORD_LIMIT - 3] + "..."


def _user_traceback(error: BaseException) -> str:
    """Traceback without millrace's own frames, unless all its frames are millrace's own."""
    report = traceback.TracebackException.from_exception(error)
    has_user_code = False
    for part in _causes(report):
        users = [line for line in part.stack if not line.filename.startswith(_PACKAGE)]
        if users:
            part.stack = traceback.StackSummary.from_list(users)
        has_user_code = has_user_code or not all(is_library(line.filename) for line in users)
    if isinstance(error, MillraceError):  # it says what is wrong
        if not has_user_code:
            return shortened("".join(report.format_exception_only()))
        own = [
            line
            for line in report.stack
            if not is_library(line.filename) and not line.filename.startswith(_PACKAGE)
        ]
        report.stack = traceback.StackSummary.from_list(own)
    return shortened("".join(report.format()) + attribute_hint(error))


def is_library(filename: str) -> bool:
    """Whether a file belongs to Python's own library."""
    return filename.startswith(_LIBRARY) and "site-packages" not in filename


def _causes(
    report: traceback.TracebackException,
) -> Iterator[traceback.TracebackException]:
    """An error and all its causes. Iterative, since the chain may be longer than the
    interpreter's stack allows."""
    waiting = [report]
    while waiting:
        part = waiting.pop()
        yield part
        context = None if part.__suppress_context__ else part.__context__
        waiting += [cause for cause in (part.__cause__, context) if cause is not None]


def shortened(text: str) -> str:
    """Text to send to the driver. A long text is reduced to its beginning and its end.

    Example:
        >>> shortened("short"), len(shortened("x" * 10**6))
        ('short', 65536)
    """
    if len(text) <= TEXT_LIMIT:
        return text
    left_out = f"\n... {len(text) - TEXT_LIMIT:,} characters are left out ...\n"
    half = (TEXT_LIMIT - len(left_out)) // 2
    return text[:half] + left_out + text[half + len(left_out) - TEXT_LIMIT :]
