"""Reading and writing of patterns as JSON. The form: docs/cep/dynamic-rules.md.

A pattern is read by saying it to `Pattern`, so what is refused there is refused here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET, UnsetType

from millrace.cep.pattern import Pattern
from millrace.cep.rules.condition_form import read_condition, written_condition
from millrace.cep.rules.forms import PartForm, PatternForm, SkipForm, TimesForm
from millrace.cep.rules.json_document import check_text, one_of, only, refuse
from millrace.cep.rules.rule_error import RuleError
from millrace.common.errors import MillraceError
from millrace.common.time.amounts import Duration
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy, Skip
from millrace.runtime.cep.pattern_model import (
    Contiguity,
    Event,
    EventPattern,
    Group,
    Part,
    Quantifier,
    WithinType,
)

__all__ = ["read_pattern", "written_pattern"]

MOST_OCCURRENCES = 1_000
"""Limit for all parts together; each occurrence is a state of the automaton."""
SKIPS = {skip.value: skip for skip in Skip}
QUANTIFIED = ("times", "optional", "greedy", "inner", "until", "within")


def read_pattern(form: PatternForm, at: str) -> EventPattern:
    """Read the pattern that a form describes.

    Raises:
        RuleError: the pattern contradicts itself.
    """
    if _occurrences(form.parts) > MOST_OCCURRENCES:
        refuse(
            f"{at}.parts",
            f"the parts occur more than {MOST_OCCURRENCES} times in all; count with "
            '{"event": "count"} instead',
        )
    skip = _skip(form.skip, f"{at}.skip")
    pattern = _sequence(form.parts, f"{at}.parts", skip, list(_event_names(form.parts)))
    if not isinstance(form.within, UnsetType):
        place = f"{at}.within"
        with _refused_at(place):
            pattern = pattern.within(_duration(form.within, place))
    with _refused_at(at):
        return pattern.model()


def written_pattern(pattern: EventPattern) -> dict[str, Any]:
    """A pattern as JSON.

    Raises:
        RuleError: a condition is code.
    """
    form: dict[str, Any] = {"parts": _sequence_form(pattern.parts)}
    if pattern.within is not None:
        form["within"] = _duration_form(pattern.within)
    if pattern.skip != AfterMatchSkipStrategy.no_skip():
        form["skip"] = _skip_form(pattern.skip)
    return form


# -- reading ---------------------------------------------------------------------------------------


def _sequence(
    parts: list[PartForm], at: str, skip: AfterMatchSkipStrategy | None, names: Collection[str]
) -> Pattern:
    pattern: Pattern | None = None
    for number, part in enumerate(parts):
        pattern = _part(part, f"{at}[{number}]", pattern, skip, names)
    assert pattern is not None
    return pattern


def _part(
    form: PartForm,
    at: str,
    before: Pattern | None,
    skip: AfterMatchSkipStrategy | None,
    names: Collection[str],
) -> Pattern:
    head: str | Pattern
    if not isinstance(form.group, UnsetType):
        only(form, at, "group", "contiguity", *QUANTIFIED)
        head = _sequence(form.group, f"{at}.group", None, names)
    elif isinstance(form.name, UnsetType):
        refuse(at, "'name' is missing")
    else:
        head = check_text(form.name, f"{at}.name")
    with _refused_at(at):
        pattern = _begun(form, at, head, before, skip)
    if not isinstance(form.where, UnsetType):
        pattern = pattern.where(read_condition(form.where, f"{at}.where", names))
    return _quantified(form, at, pattern, names)


def _begun(
    form: PartForm,
    at: str,
    head: str | Pattern,
    before: Pattern | None,
    skip: AfterMatchSkipStrategy | None,
) -> Pattern:
    if before is None:
        if form.contiguity is not UNSET:
            refuse(f"{at}.contiguity", "the first part follows no other part; remove this member")
        return Pattern.begin(head, skip)
    word = "followed_by" if isinstance(form.contiguity, UnsetType) else form.contiguity
    if word.startswith("not_") and not isinstance(head, str):
        refuse(f"{at}.contiguity", f"a group cannot be {word}; only a single part can")
    following: Pattern = getattr(before, word)(head)
    return following


def _quantified(form: PartForm, at: str, pattern: Pattern, names: Collection[str]) -> Pattern:
    with _refused_at(f"{at}.times"):
        pattern = _repeated(form.times, f"{at}.times", pattern)
    if form.optional:
        with _refused_at(f"{at}.optional"):
            pattern = pattern.optional()
    if form.greedy:
        with _refused_at(f"{at}.greedy"):
            pattern = pattern.greedy()
    if not isinstance(form.inner, UnsetType):
        with _refused_at(f"{at}.inner"):
            strict = form.inner == "consecutive"
            pattern = pattern.consecutive() if strict else pattern.allow_combinations()
    if not isinstance(form.until, UnsetType):
        with _refused_at(f"{at}.until"):
            pattern = pattern.until(read_condition(form.until, f"{at}.until", names))
    if not isinstance(form.within, UnsetType):
        with _refused_at(f"{at}.within"):
            window_time = _duration(form.within, f"{at}.within")
            pattern = pattern.within(window_time, WithinType.PREVIOUS_AND_CURRENT)
    return pattern


def _repeated(form: int | TimesForm | UnsetType, at: str, pattern: Pattern) -> Pattern:
    if isinstance(form, UnsetType):
        return pattern
    if isinstance(form, int):
        return pattern.times(form)
    within = form.within
    window_time = None if isinstance(within, UnsetType) else _duration(within, f"{at}.within")
    if not isinstance(form.most, UnsetType):
        return pattern.times(form.least, form.most, window_time)
    if form.least:
        return pattern.times_or_more(form.least, window_time)
    return pattern.one_or_more(window_time).optional()


def _duration(form: str | int, at: str) -> int:
    if isinstance(form, int):
        return form
    try:
        return Duration.parse(form).to_millis()
    except ValueError as error:
        refuse(at, str(error))


def _skip(form: str | SkipForm | UnsetType, at: str) -> AfterMatchSkipStrategy:
    if isinstance(form, UnsetType):
        return AfterMatchSkipStrategy.no_skip()
    given = form if isinstance(form, SkipForm) else SkipForm(form)
    kind = SKIPS[one_of(given.kind, at if given is not form else f"{at}.kind", tuple(SKIPS))]
    if kind not in (Skip.TO_FIRST, Skip.TO_LAST):
        only(given, at, "kind")
        return AfterMatchSkipStrategy(kind)
    if isinstance(given.part, UnsetType):
        refuse(at, f'needs a part: {{"kind": "{kind.value}", "part": "..."}}')
    return AfterMatchSkipStrategy(kind, check_text(given.part, f"{at}.part"))


def _event_names(parts: list[PartForm]) -> Iterator[str]:
    """The names of the parts that have events."""
    for part in parts:
        if not isinstance(part.group, UnsetType):
            yield from _event_names(part.group)
        elif not isinstance(part.name, UnsetType) and not str(part.contiguity).startswith("not_"):
            yield part.name


def _occurrences(parts: list[PartForm]) -> int:
    """Number of states that the automaton will have."""
    count = 0
    for part in parts:
        times = part.times
        if isinstance(times, TimesForm):
            times = times.least if isinstance(times.most, UnsetType) else times.most
        own = 1 if isinstance(part.group, UnsetType) else _occurrences(part.group)
        count += own * (1 if isinstance(times, UnsetType) else max(times, 1))
    return count


@contextmanager
def _refused_at(at: str) -> Iterator[None]:
    """Add the place in the JSON to errors that `Pattern` raises."""
    try:
        yield
    except RuleError:
        raise
    except MillraceError as error:
        refuse(at, str(error))


# -- writing ---------------------------------------------------------------------------------------


def _sequence_form(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    return [_part_form(part, first=number == 0) for number, part in enumerate(parts)]


def _part_form(part: Part, first: bool) -> dict[str, Any]:
    if isinstance(part, Group):
        form: dict[str, Any] = {"group": _sequence_form(part.parts)}
    else:
        form = {"name": part.name}
    if not first:
        negated = isinstance(part, Event) and part.negated
        form["contiguity"] = f"{'not_' if negated else ''}{part.contiguity.value}"
    if isinstance(part, Event) and part.condition is not None:
        form["where"] = written_condition(part.condition)
    form |= _quantifier_form(part.quantifier)
    if part.window_time is not None:
        form["within"] = _duration_form(part.window_time)
    return form


def _quantifier_form(quantifier: Quantifier) -> dict[str, Any]:
    form: dict[str, Any] = {}
    least, most, inner = quantifier.least, quantifier.most, quantifier.inner
    if most is None:
        form["times"] = {"from": least}
    elif least != most or quantifier.window_time is not None:
        form["times"] = {"from": least, "to": most}
    elif least != 1 or quantifier.greedy or inner is not Contiguity.RELAXED:
        form["times"] = least
    if quantifier.window_time is not None:
        form["times"]["within"] = _duration_form(quantifier.window_time)
    for word in ("optional", "greedy"):
        if getattr(quantifier, word):
            form[word] = True
    if inner is not Contiguity.RELAXED:
        form["inner"] = "consecutive" if inner is Contiguity.STRICT else "allow_combinations"
    if quantifier.until is not None:
        form["until"] = written_condition(quantifier.until)
    return form


def _duration_form(millis: int) -> str:
    return str(Duration.of_millis(millis))


def _skip_form(skip: AfterMatchSkipStrategy) -> Any:
    if skip.pattern_name is None:
        return skip.kind.value
    if skip.throws:
        raise RuleError(f"{skip!r} throws when it misses, and a rule as JSON never fails a job")
    return {"kind": skip.kind.value, "part": skip.pattern_name}
