"""The terminal's message for a job file that fails; the log has the rest."""

from __future__ import annotations

import os
import sysconfig
import traceback

import millrace
from millrace.common.errors import MillraceError, UserFunctionError
from millrace.common.similar_names import attribute_hint
from millrace.engine.failure_hints import failure_hint

_OURS = os.path.dirname(os.path.abspath(millrace.__file__)) + os.sep
_NOBODYS = tuple(
    os.sep + os.path.join(*parts) + os.sep
    for parts in (("pyspark",), ("py4j",), ("concurrent", "futures"))
)
"""Paths of the frames in tracebacks between the user's code and the cause."""
_LIBRARY = sysconfig.get_path("stdlib") + os.sep


def failure_report(error: BaseException) -> str:
    """Report of an error. For a user function's error, it has the operator, the record and the
    traceback. For an error in the program's structure, it names the line to change. For any
    other error, it has the traceback in the job file."""
    if isinstance(error, UserFunctionError):
        return _user_function(error)
    if isinstance(error, MillraceError):
        return f"{_place(error)}{error}\n{failure_hint(str(error))}"
    return _traceback(error)


def _user_function(error: UserFunctionError) -> str:
    record = "" if error.record is None else f"  record: {error.record}\n"
    return (
        f"a function of operator '{error.operator}' failed\n{record}\n"
        f"{error.user_traceback.rstrip()}\n{failure_hint(error.user_traceback)}"
    )


def _place(error: BaseException) -> str:
    """The innermost line of the user's own code."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if _is_users(frame) and not frame.filename.startswith(("<", _LIBRARY))
    ]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""


def _is_users(frame: traceback.FrameSummary) -> bool:
    name = frame.filename
    return not name.startswith(_OURS) and not any(part in name for part in _NOBODYS)


def _traceback(error: BaseException) -> str:
    report = traceback.TracebackException.from_exception(error)
    where = report.stack[-1].filename if report.stack else ""
    if isinstance(error, SyntaxError) and error.filename:  # not where it was raised
        where = error.filename
    # a name that does not exist is the program's mistake, whoever notices it
    refused = bool(report.stack) and report.stack[-1].name == "__getattr__"
    internal = where.startswith(_OURS) and not (refused and isinstance(error, AttributeError))
    report.stack = traceback.StackSummary.from_list([f for f in report.stack if _is_users(f)])
    if not from_spark(error):
        lead = "an error inside millrace; please report it with the log\n" if internal else ""
        return lead + "".join(report.format()) + attribute_hint(error)
    # Spark's message carries the whole Java stack trace behind its first line.
    kind = type(error).__name__
    first = str(error).strip().partition("\n")[0]
    stack = "".join(report.stack.format())
    return f"Traceback (most recent call last):\n{stack}{kind}: {first}\n"


def spark_reason(error: BaseException) -> str:
    """Spark's error message without its Java stack."""
    text = str(error).strip().partition("\n\tat ")[0].partition("\n\nJVM stacktrace")[0]
    return text.partition("\n\nDriver stacktrace")[0].rstrip()[:2_000]


def from_spark(error: BaseException | None) -> bool:
    """Whether the error or one of its causes comes from Spark."""
    while error is not None:
        if type(error).__module__.partition(".")[0] in {"py4j", "pyspark"}:
            return True
        error = error.__cause__ or error.__context__
    return False
