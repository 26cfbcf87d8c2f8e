"""Conditions that can be inspected: what events must be like for them to be true at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.functions.pattern_conditions import Condition, all_of
from millrace.runtime.cep.event_field import FieldPath

__all__ = ["Equality", "KnownCondition", "equalities", "without_context"]


@dataclass(frozen=True, slots=True)
class Equality:
    """A field has one of a few values."""

    path: FieldPath
    values: frozenset[Any]


class KnownCondition(ABC):
    """What a `Condition` was made of, if that is known; its ``source``."""

    @abstractmethod
    def equalities(self) -> list[Equality]:
        """What holds of each event that satisfies the condition; perhaps nothing is known."""

    @abstractmethod
    def without_context(self) -> Callable[[Any], Any] | None:
        """A condition on the event alone that holds of each event that satisfies this one; None:
        there is none. Asked only of conditions that want a context."""


def equalities(condition: Condition) -> list[Equality]:
    """What holds of each event that satisfies the condition, as far as that is known."""
    if condition.word == "and":
        return [found for part in condition.parts for found in equalities(part)]
    source = condition.source
    return source.equalities() if isinstance(source, KnownCondition) else []


def without_context(condition: Condition) -> Condition | None:
    """A condition on the event alone that holds of each event that satisfies the condition; None:
    nothing but the context decides."""
    if not condition.iterative:
        return condition
    if condition.word == "and":
        return _all_parts(condition.parts)
    if isinstance(condition.source, KnownCondition):
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
