"""Inspectable conditions: their necessary field values are known without a call, so events with
other values can be skipped.

The matcher of many rules uses it to index rules by the values of fields (`rule_index`), and to skip
events early (`active_rule`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.functions.pattern_conditions import Condition, all_of
from millrace.runtime.cep.event_field import FieldPath

__all__ = ["Equality", "InspectableCondition", "equalities", "without_context"]


@dataclass(frozen=True, slots=True)
class Equality:
    """Condition on a field: it must have one of a few values, or else the whole condition is
    false."""

    path: FieldPath
    values: frozenset[Any]


class InspectableCondition(ABC):
    """The ``source`` of a `Condition` that was built from data instead of a Python function."""

    @abstractmethod
    def equalities(self) -> list[Equality]:
        """Field values that are necessary for the condition: every event that satisfies it has
        them. May be empty."""

    @abstractmethod
    def without_context(self) -> Callable[[Any], Any] | None:
        """A weaker condition on the event alone, which is true for every event that satisfies
        this condition. None if there is none. Called only for conditions that use the context."""


def equalities(condition: Condition) -> list[Equality]:
    """Known field values that are necessary for the condition: every event that satisfies it has
    them."""
    if condition.word == "and":
        return [equality for part in condition.parts for equality in equalities(part)]
    source = condition.source
    return source.equalities() if isinstance(source, InspectableCondition) else []


def without_context(condition: Condition) -> Condition | None:
    """A weaker condition on the event alone, which is true for every event that satisfies
    ``condition``. None if only the context decides."""
    if not condition.iterative:
        return condition
    if condition.word == "and":
        return _all_parts(condition.parts)
    if isinstance(condition.source, InspectableCondition):
        call = condition.source.without_context()
        return None if call is None else Condition(call)
    return None


def _all_parts(parts: tuple[Condition, ...]) -> Condition | None:
    whole: Condition | None = None
    for part in parts:
        known = without_context(part)
        if known is not None:
            whole = known if whole is None else all_of(whole, known)
    return whole
