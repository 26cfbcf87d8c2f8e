"""Checks of the functions that users give for matches, while a job is built."""

from __future__ import annotations

from inspect import isgeneratorfunction
from typing import Any

from millrace.cep.pattern_arguments import gives_no_value, takes
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import Function
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import (
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from millrace.datastream.checks import checked_function
from millrace.runtime.function_operator import as_callable

__all__ = ["check_function", "check_process_function", "checked_tag", "checked_timeout"]

MATCH = "the match"
TIMED_OUT = "the partial match and the time at which it timed out"


def check_function(
    where: str, function: Any, wanted: type[Function], called_with: str = MATCH
) -> None:
    """Raise JobDefinitionError unless a function has the expected class, or can be called with
    the arguments that ``called_with`` describes."""
    if isinstance(function, OutputTag):
        raise JobDefinitionError(
            f"{where}() takes the function for matches first; name the arguments for "
            f"timed-out partial matches: {where}(function, timed_out_tag=tag, "
            "timeout_function=function)"
        )
    checked_function(function, wanted, where)
    method = "timeout" if called_with is TIMED_OUT else where
    called = as_callable(function, method)
    if not takes(called, 2 if called_with is TIMED_OUT else 1):
        raise JobDefinitionError(
            f"{where}() calls {function!r} with {called_with}, but it takes other arguments"
        )
    _check_results(where, function, called, many=where == "flat_select")


def check_process_function(function: Any) -> None:
    """Raise JobDefinitionError unless the object is a process function whose methods can be
    called."""
    checked_function(function, PatternProcessFunction, "process", plain=False)
    _check_method(function, "process_match")
    if isinstance(function, TimedOutPartialMatchHandler):
        _check_method(function, "process_timed_out_match")
    elif hasattr(function, "process_timed_out_match"):
        name = type(function).__name__
        raise JobDefinitionError(
            f"{name} has a method process_timed_out_match() that would never be called; "
            f"derive it from the handler, too: class {name}(PatternProcessFunction, "
            "TimedOutPartialMatchHandler)"
        )


def checked_tag(where: str, tag: Any) -> OutputTag[Any]:
    """The output tag; raises JobDefinitionError for any other object."""
    if not isinstance(tag, OutputTag):
        raise JobDefinitionError(f"{where}() takes an OutputTag, got {tag!r}")
    return tag


def checked_timeout(
    where: str, tag: Any, function: Any, wanted: type[Function]
) -> OutputTag[Any] | None:
    """The output tag, if timed-out partial matches are requested."""
    if tag is None and function is None:
        return None
    if tag is None or function is None:
        raise JobDefinitionError(
            f"{where}() takes timed_out_tag and timeout_function together or neither: the function "
            "makes the records of the side output that the tag names"
        )
    checked = checked_tag(where, tag)
    check_function(where, function, wanted, TIMED_OUT)
    return checked


def _check_method(function: Any, method: str) -> None:
    called = getattr(function, method)
    if not takes(called, 2):
        raise JobDefinitionError(
            f"{type(function).__name__}.{method}() is called with a match and a context; "
            f"define it as `def {method}(self, match, ctx)` and yield its records, because "
            "there is no collector"
        )
    _check_results("process", function, called, many=True)


def _check_results(where: str, function: Any, called: Any, many: bool) -> None:
    """Check the kind of results: a generator gives any number of records, a coroutine is never
    accepted."""
    if not gives_no_value(called) or (many and isgeneratorfunction(_body(called))):
        return
    if isgeneratorfunction(_body(called)):
        raise JobDefinitionError(
            f"{where}() takes a function that returns one record, but {function!r} yields; "
            "flat_select() takes functions that yield any number"
        )
    raise JobDefinitionError(
        f"{where}() takes a function that returns its records, but {function!r} is async, "
        "and its result is never awaited; make it a plain function, and use AsyncDataStream "
        "behind it"
    )


def _body(called: Any) -> Any:
    """The function itself, or the method that makes an object callable."""
    return called if isgeneratorfunction(called) else type(called).__call__
