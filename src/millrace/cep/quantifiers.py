"""Quantifiers: numbers of occurrences of a part of a pattern, built step by step and checked.

Semantics: Flink docs, "FlinkCEP", sections Quantifiers and Contiguity within looping patterns.
``part`` is what errors call the part that is spoken of, for example ``pattern 'a'``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.cep.pattern_arguments import as_int
from millrace.common.errors import MalformedPatternError
from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.pattern_model import Contiguity, Quantifier

INNER_WORDS = {Contiguity.STRICT: "consecutive()", Contiguity.ANY: "allow_combinations()"}


def in_words(quantifier: Quantifier) -> str:
    """Number of occurrences in words: ``once``, ``2 to 4 times, or not at all``."""
    least, most = quantifier.least, quantifier.most
    if most is None:
        counted = "once or more" if least == 1 else f"{least} times or more"
    elif least == most:
        counted = "once" if most == 1 else f"{most} times"
    else:
        counted = f"{least} to {most} times"
    return f"{counted}, or not at all" if quantifier.optional else counted


def repeated(
    part: str,
    quantifier: Quantifier,
    least: int,
    most: int | None,
    counted: bool,
    window_time: int | None = None,
) -> Quantifier:
    """Quantifier with bounds for the number of occurrences, which are less than ``window_time``
    ms apart. ``counted`` says whether the part already has a number of occurrences."""
    if counted:
        raise MalformedPatternError(
            f"{part} already has a number of occurrences ({in_words(quantifier)}); use only "
            "one of times(), times_or_more() and one_or_more()"
        )
    return replace(quantifier, least=least, most=most, window_time=window_time)


def optional(part: str, quantifier: Quantifier) -> Quantifier:
    """The quantifier, extended to no occurrence."""
    if quantifier.optional:
        raise MalformedPatternError(f"{part} is optional already; call optional() once")
    return replace(quantifier, optional=True)


def greedy(part: str, quantifier: Quantifier, counted: bool) -> Quantifier:
    """The quantifier of a loop, changed so that the loop takes as many events as it can."""
    if not counted:
        raise MalformedPatternError(
            f"{part} occurs once, so it cannot be greedy; set the number of occurrences "
            "first: one_or_more().greedy()"
        )
    if quantifier.greedy:
        raise MalformedPatternError(f"{part} is greedy already; call greedy() once")
    if quantifier.inner is Contiguity.ANY:
        raise _not_greedy_and_combined(part)
    return replace(quantifier, greedy=True)


def with_inner(part: str, quantifier: Quantifier, inner: Contiguity, counted: bool) -> Quantifier:
    """The quantifier, with a rule for events between the occurrences."""
    word = INNER_WORDS[inner]
    if not counted:
        raise MalformedPatternError(
            f"{part} occurs once, so nothing can lie between its occurrences; set the "
            f"number of occurrences first: one_or_more().{word}"
        )
    if quantifier.inner is inner:
        raise MalformedPatternError(f"{part} already has {word}; call it once")
    if quantifier.inner is not Contiguity.RELAXED:
        raise MalformedPatternError(
            f"{part} cannot be both consecutive() and allow_combinations(); remove one"
        )
    if quantifier.greedy and inner is Contiguity.ANY:
        raise _not_greedy_and_combined(part)
    return replace(quantifier, inner=inner)


def with_until(part: str, quantifier: Quantifier, until: Condition) -> Quantifier:
    """The quantifier, with a condition that ends the loop."""
    if quantifier.until is not None:
        raise MalformedPatternError(
            f"{part} has an until() already; join both conditions into one with `or`"
        )
    if quantifier.most is not None:
        raise MalformedPatternError(
            f"{part} is not a loop, so until() has nothing to end; call one_or_more() or "
            "times_or_more() before"
        )
    return replace(quantifier, until=until)


def checked_count(method: str, count: Any) -> int:
    """The number of occurrences; raises MalformedPatternError unless it is a whole number from 1
    on."""
    number = as_int(count)
    if isinstance(number, bool) or not isinstance(number, int):
        raise MalformedPatternError(f"{method}() takes a whole number, got {count!r}")
    if number < 1:
        raise MalformedPatternError(
            f"{method}() takes a number of 1 or more, got {number}; for a part that may be "
            "missing, use optional()"
        )
    return number


def checked_range(least: Any, most: Any) -> tuple[int, int]:
    """The bounds of ``times(least, most)``; the lower one may be 0."""
    if as_int(least) == 0 and not isinstance(least, (bool, float)):
        return 0, checked_count("times", most)
    lower, upper = checked_count("times", least), checked_count("times", most)
    if upper < lower:
        raise MalformedPatternError(
            f"times({lower}, {upper}) has its bounds in the wrong order; give the lesser one first"
        )
    return lower, upper


def _not_greedy_and_combined(part: str) -> MalformedPatternError:
    return MalformedPatternError(
        f"{part} cannot be both greedy() and allow_combinations(): a greedy part takes "
        "every event that it can, while combinations also leave such events out"
    )
