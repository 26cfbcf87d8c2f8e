"""Conditions of patterns, which select events.

Semantics: Flink docs, "FlinkCEP", section Conditions. Wherever one of the classes is taken, a plain
callable does as well: of the event, or of the event and a `IterativeCondition.Context`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError, MalformedPatternError
from millrace.common.functions.base import Function

__all__ = [
    "Condition",
    "IterativeCondition",
    "RichIterativeCondition",
    "SimpleCondition",
    "all_of",
    "any_of",
    "condition_of",
]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class IterativeCondition(ABC, Generic[T_contra]):
    """A condition with access to the events that its partial match has taken so far.

    Flink: class ``IterativeCondition``. Its result must not change: it may be evaluated again.

    Example:
        >>> class Rising(IterativeCondition):
        ...     def filter(self, value, ctx):
        ...         before = ctx.get_events_for_pattern("rise")
        ...         return not before or value > before[-1]
        >>> condition_of(Rising(), "where").iterative
        True
    """

    class Context(ABC):
        """Earlier events of the partial match, the event's time and the clock."""

        @abstractmethod
        def get_events_for_pattern(self, name: str) -> list[Any]:
            """The events that the partial match has taken for the pattern with the given name,
            oldest first; empty if there are none (or no such pattern).
            """

        @abstractmethod
        def timestamp(self) -> int:
            """The event's time in ms since the epoch; in processing time, its arrival."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The time of the clock, ms since the epoch."""

    @abstractmethod
    def filter(self, value: T_contra, ctx: IterativeCondition.Context) -> bool:
        """Whether the pattern takes the event."""


class RichIterativeCondition(IterativeCondition[T_contra], Function):
    """An iterative condition with `open` and `close`, and a runtime context.

    Flink: class ``RichIterativeCondition``.
    """


class SimpleCondition(IterativeCondition[T_contra]):
    """A condition on the event alone. Flink: class ``SimpleCondition``.

    Example:
        >>> class Large(SimpleCondition):
        ...     def filter(self, value, ctx=None):
        ...         return value > 100
        >>> condition_of(Large(), "where").iterative
        False
    """

    @abstractmethod
    def filter(self, value: T_contra, ctx: IterativeCondition.Context | None = None) -> bool:
        """Whether the pattern takes the event."""

    @staticmethod
    def of(predicate: Callable[[T], bool]) -> SimpleCondition[T]:
        """A plain callable as a condition.

        Raises:
            MalformedPatternError: the argument is not a callable.
        """
        if isinstance(predicate, type) or not callable(predicate):
            raise MalformedPatternError(
                f"SimpleCondition.of() takes a callable of the event, got {predicate!r}"
            )
        return _Predicate(predicate)


class _Predicate(SimpleCondition[Any]):
    def __init__(self, predicate: Callable[[Any], bool]) -> None:
        self.predicate = predicate

    def filter(self, value: Any, ctx: IterativeCondition.Context | None = None) -> bool:
        return self.predicate(value)


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """A condition as the matcher uses it.

    Example:
        >>> small = condition_of(lambda value: value < 10, "where")
        >>> even = condition_of(lambda value: value % 2 == 0, "where")
        >>> all_of(small, even).call(4), all_of(small, even).call(5)
        (True, False)
    """

    call: Callable[..., Any]
    """Takes the event, an iterative one the `IterativeCondition.Context` too."""
    iterative: bool = False
    source: Any = None
    """The user's callable or condition object; None for combined conditions."""
    text: str = ""
    """Text for people, if a better one is known than the source."""
    parts: tuple[Condition, ...] = ()
    """Parts of a combined condition."""
    word: str = ""
    """The word that combines the parts: "and" or "or"."""

    def with_context(self) -> Callable[[Any, Any], Any]:
        """The condition as a function of event and context, even if it uses only the event."""
        if self.iterative:
            return self.call
        call = self.call
        return lambda value, ctx: call(value)

    def leaves(self) -> list[Condition]:
        """The innermost conditions, which are not combined from others, in the order of
        evaluation."""
        if not self.parts:
            return [self]
        return [leaf for part in self.parts for leaf in part.leaves()]


def condition_of(where: Any, method: str) -> Condition:
    """The condition that a user gave to ``method``, checked.

    Raises:
        JobDefinitionError: it is neither callable nor a condition.
    """
    if isinstance(where, Condition):
        return where
    if isinstance(where, _Predicate):
        return Condition(where.predicate, source=where.predicate)
    if isinstance(where, SimpleCondition):
        return Condition(where.filter, source=where)
    if isinstance(where, IterativeCondition):
        return Condition(where.filter, iterative=True, source=where)
    if isinstance(where, type) or not callable(where):
        raise JobDefinitionError(
            f"{method}() takes a condition: a callable of the event (or of the event and a "
            f"context), a SimpleCondition or an IterativeCondition; got {where!r}"
        )
    return Condition(where, iterative=_takes_two(where), source=where)


def all_of(first: Condition, second: Condition) -> Condition:
    """A condition that is true if both conditions are; the second is not evaluated if the first is
    false.
    """
    a, b, iterative = _paired(first, second)
    if iterative:
        call: Callable[..., Any] = lambda value, ctx: a(value, ctx) and b(value, ctx)  # noqa: E731
    else:
        call = lambda value: a(value) and b(value)  # noqa: E731
    return Condition(call, iterative, parts=_flat("and", first, second), word="and")


def any_of(first: Condition, second: Condition) -> Condition:
    """A condition that is true if at least one of two conditions is true; the second is not
    evaluated if the first is true."""
    a, b, iterative = _paired(first, second)
    if iterative:
        call: Callable[..., Any] = lambda value, ctx: a(value, ctx) or b(value, ctx)  # noqa: E731
    else:
        call = lambda value: a(value) or b(value)  # noqa: E731
    return Condition(call, iterative, parts=_flat("or", first, second), word="or")


def _paired(first: Condition, second: Condition) -> tuple[Any, Any, bool]:
    if first.iterative or second.iterative:
        return first.with_context(), second.with_context(), True
    return first.call, second.call, False


def _flat(word: str, *conditions: Condition) -> tuple[Condition, ...]:
    """A chain of conditions with the same connective, as one list of parts."""
    flat: list[Condition] = []
    for condition in conditions:
        flat += condition.parts if condition.word == word else [condition]
    return tuple(flat)


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a callable needs the context, because it can only be called with two arguments."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return False
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is Parameter.empty]
    return len(needed) == 2
