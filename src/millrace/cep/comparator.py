"""Comparators, which order events of the same time.

Semantics: Flink docs, "FlinkCEP", section Detecting Patterns; interface ``EventComparator``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

from millrace.cep.pattern_arguments import takes
from millrace.common.errors import JobDefinitionError, JobExecutionError

Comparator = Callable[[Any, Any], int]


class EventComparator(Protocol):
    """Orders events of the same time. Flink: interface ``EventComparator``."""

    def compare(self, one: Any, other: Any, /) -> int:
        """A negative number, zero or a positive number, if ``one`` comes before, with or after
        ``other``."""


@dataclass(frozen=True, slots=True)
class CheckedComparator:
    """A comparator that refuses results that are not numbers, for example True."""

    compare: Comparator

    def __call__(self, one: Any, other: Any) -> int:
        order = self.compare(one, other)
        if type(order) is not int:
            self._check(order)
        return order

    def _check(self, order: Any) -> None:
        if isinstance(order, bool) or not isinstance(order, (Real, Decimal)):
            raise JobExecutionError(
                f"the comparator {self.compare!r} returned {order!r}; a comparator of two events "
                "returns a negative number, zero or a positive one"
            )


def checked_comparator(comparator: Any) -> Comparator | None:
    """The comparator with checked results; None if no comparator is given.

    Raises:
        JobDefinitionError: the argument is not a comparator.
    """
    if comparator is None:
        return None
    compare = getattr(comparator, "compare", comparator)
    if isinstance(comparator, type) or not callable(compare) or not takes(compare, 2):
        raise JobDefinitionError(
            "the comparator must be a callable of two events that returns a negative number, zero "
            f"or a positive one, or an object with such a method compare(); got {comparator!r}"
        )
    return CheckedComparator(compare)
