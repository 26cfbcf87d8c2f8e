"""Arguments of the methods of `Pattern`, checked and converted to plain data."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from operator import index
from typing import Any

from millrace.common.errors import JobDefinitionError, MalformedPatternError
from millrace.common.functions.pattern_conditions import (
    Condition,
    IterativeCondition,
    SimpleCondition,
    condition_of,
)
from millrace.common.time.amounts import millis

LONGEST = 2**53
"""Milliseconds; added to a timestamp they still make one."""
ConditionLike = IterativeCondition[Any] | Condition | Callable[..., Any]
"""A callable of the event, or of the event and the context; or one of the condition classes."""


def checked_name(method: str, name: Any) -> str:
    """The name itself; raises MalformedPatternError if it is not a valid name."""
    if not isinstance(name, str):
        or_group = "" if method.startswith("not_") else ", or another pattern as a group"
        raise MalformedPatternError(f"{method}() takes the name of a part{or_group}; got {name!r}")
    if not name:
        raise MalformedPatternError(f"{method}() takes a name, but it is empty")
    if not name.isprintable():
        raise MalformedPatternError(
            f"{method}() takes a name of one line that can be printed, got {name!r}"
        )
    return name


def checked_condition(condition: ConditionLike, method: str) -> Condition:
    """The condition; raises MalformedPatternError if it is not a condition or cannot be called."""
    try:
        checked = condition_of(condition, method)
    except JobDefinitionError as error:
        raise MalformedPatternError(str(error)) from None
    if gives_no_value(checked.call):
        raise MalformedPatternError(
            f"{method}() takes a condition that returns True or False, but {condition!r} is async "
            "or a generator: its return value always counts as true"
        )
    if not takes(checked.call, 2 if checked.iterative else 1):
        if isinstance(checked.source, IterativeCondition):
            wanted = "value, ctx=None" if isinstance(condition, SimpleCondition) else "value, ctx"
            raise MalformedPatternError(
                f"{method}() got a {type(condition).__name__} whose filter() takes other "
                f"arguments; define it as `def filter(self, {wanted})`"
            )
        raise MalformedPatternError(
            f"{method}() takes a callable of the event, or of the event and a context, but "
            f"{condition!r} cannot be called with one or two arguments"
        )
    return checked


def gives_no_value(function: Callable[..., Any]) -> bool:
    """Whether a call of the function only makes a coroutine or a generator."""
    called = (function, type(function).__call__)
    kinds = (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)
    return any(is_kind(call) for call in called for is_kind in kinds)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a callable accepts this number of arguments, as far as its signature shows."""
    try:
        known = signature(function)
    except (TypeError, ValueError):  # written in C
        return True
    try:
        known.bind(*range(count))
    except TypeError:
        return False
    return True


def is_instance(subtype_class: type) -> Condition:
    """Condition that an event is an instance of a class; its `source` is the class."""
    return Condition(
        lambda value: isinstance(value, subtype_class),
        source=subtype_class,
        text=f"is of class {subtype_class.__qualname__}",
    )


def as_int(number: Any) -> Any:
    """Any kind of whole number, such as NumPy's, as ``int``; other values unchanged."""
    if isinstance(number, bool):
        return number
    try:
        return index(number)
    except TypeError:
        return number


def checked_duration(time: Any, method: str = "within") -> int:
    """The time in ms; raises MalformedPatternError unless it is positive and at most `LONGEST`."""
    try:
        duration = millis(as_int(time))
    except TypeError as error:
        raise MalformedPatternError(f"{method}() takes an amount of time: {error}") from None
    if duration <= 0:
        raise MalformedPatternError(
            f"{method}() takes a time of 1 ms or more, got {time!r}; nothing happens in less"
        )
    if duration > LONGEST:
        raise MalformedPatternError(
            f"{method}() takes a time of at most {LONGEST} ms, which are 285,000 years; "
            "omit the argument if there is no limit"
        )
    return duration
