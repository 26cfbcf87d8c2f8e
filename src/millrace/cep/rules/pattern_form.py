"""Patterns as JSON, to be read and written. The form: docs/cep/dynamic-rules.md.

A pattern is read by saying it to `Pattern`, so what is refused there is refused here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from millrace.cep.pattern import Pattern
from millrace.cep.rules.condition_form import read_condition, written_condition
from millrace.cep.rules.json_place import JsonPlace
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
"""Of all parts together; each occurrence is a state of the automaton."""
FOLLOWING = ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
SKIPS = {skip.value: skip for skip in Skip}
QUANTIFIED = ("times", "optional", "greedy", "inner", "until", "within")


def read_pattern(place: JsonPlace) -> EventPattern:
    """The pattern at a place.

    Raises:
        RuleError: there is none.
    """
    place.only("parts", "within", "skip")
    parts = place["parts"]
    _check_size(parts)
    skip = _skip(place["skip"]) if "skip" in place else AfterMatchSkipStrategy.no_skip()
    pattern = _sequence(parts, skip, list(_event_names(parts)))
    if "within" in place:
        with _refused_at(place["within"]):
            pattern = pattern.within(_duration(place["within"]))
    with _refused_at(place):
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
    parts: JsonPlace, skip: AfterMatchSkipStrategy | None, names: Collection[str]
) -> Pattern:
    pattern: Pattern | None = None
    for place in parts.items():
        pattern = _part(place, pattern, skip, names)
    assert pattern is not None
    return pattern


def _part(
    place: JsonPlace,
    before: Pattern | None,
    skip: AfterMatchSkipStrategy | None,
    names: Collection[str],
) -> Pattern:
    head: str | Pattern
    if "group" in place:
        place.only("group", "contiguity", *QUANTIFIED)
        head = _sequence(place["group"], None, names)
    else:
        place.only("name", "contiguity", "where", *QUANTIFIED)
        head = place["name"].text()
    with _refused_at(place):
        pattern = _begun(place, head, before, skip)
    if "where" in place:
        pattern = pattern.where(read_condition(place["where"], names))
    return _quantified(place, pattern, names)


def _begun(
    place: JsonPlace,
    head: str | Pattern,
    before: Pattern | None,
    skip: AfterMatchSkipStrategy | None,
) -> Pattern:
    if before is None:
        if "contiguity" in place:
            place["contiguity"].fail("the first part follows nothing; leave it away")
        return Pattern.begin(head, skip)
    word = place["contiguity"].one_of(*FOLLOWING) if "contiguity" in place else "followed_by"
    if word.startswith("not_") and not isinstance(head, str):
        place["contiguity"].fail(f"a group cannot be {word}; only a single part can")
    following: Pattern = getattr(before, word)(head)
    return following


def _quantified(place: JsonPlace, pattern: Pattern, names: Collection[str]) -> Pattern:
    if "times" in place:
        with _refused_at(place["times"]):
            pattern = _repeated(place["times"], pattern)
    for word in ("optional", "greedy"):
        if word in place and place[word].flag():
            with _refused_at(place[word]):
                pattern = pattern.optional() if word == "optional" else pattern.greedy()
    if "inner" in place:
        with _refused_at(place["inner"]):
            inner = place["inner"].one_of("consecutive", "allow_combinations")
            between = Pattern.consecutive if inner == "consecutive" else Pattern.allow_combinations
            pattern = between(pattern)
    if "until" in place:
        with _refused_at(place["until"]):
            pattern = pattern.until(read_condition(place["until"], names))
    if "within" in place:
        with _refused_at(place["within"]):
            gap = _duration(place["within"])
            pattern = pattern.within(gap, WithinType.PREVIOUS_AND_CURRENT)
    return pattern


def _repeated(place: JsonPlace, pattern: Pattern) -> Pattern:
    if not isinstance(place.value, dict):
        return pattern.times(place.whole(1))
    place.only("from", "to", "within")
    least = place["from"].whole(0)
    gap = _duration(place["within"]) if "within" in place else None
    if "to" in place:
        return pattern.times(least, place["to"].whole(1), gap)
    if least:
        return pattern.times_or_more(least, gap)
    return pattern.one_or_more(gap).optional()


def _duration(place: JsonPlace) -> int:
    if isinstance(place.value, str):
        try:
            return Duration.parse(place.value).to_millis()
        except ValueError as error:
            place.fail(str(error))
    return place.whole(1)


def _skip(place: JsonPlace) -> AfterMatchSkipStrategy:
    if isinstance(place.value, str):
        kind = SKIPS[place.one_of(*SKIPS)]
        if kind in (Skip.TO_FIRST, Skip.TO_LAST):
            place.fail(f'needs a part: {{"kind": "{kind.value}", "part": "..."}}')
        return AfterMatchSkipStrategy(kind)
    place.only("kind", "part")
    kind = SKIPS[place["kind"].one_of(*SKIPS)]
    if kind not in (Skip.TO_FIRST, Skip.TO_LAST):
        place.only("kind")
        return AfterMatchSkipStrategy(kind)
    return AfterMatchSkipStrategy(kind, place["part"].text())


def _event_names(parts: JsonPlace) -> Iterator[str]:
    """The names of the parts that have events."""
    for place in parts.items():
        if "group" in place:
            yield from _event_names(place["group"])
        elif "name" in place and not str(place.value.get("contiguity")).startswith("not_"):
            yield place["name"].text()


def _check_size(parts: JsonPlace) -> None:
    if _occurrences(parts) > MOST_OCCURRENCES:
        parts.fail(
            f"the parts occur more than {MOST_OCCURRENCES} times in all; count with "
            '{"event": "count"} instead'
        )


def _occurrences(parts: JsonPlace) -> int:
    """How many states the automaton will have; what is no number is refused later."""
    count = 0
    for place in parts.items():
        times = place.value.get("times", 1) if isinstance(place.value, dict) else 1
        if isinstance(times, dict):
            times = times.get("to", times.get("from"))
        own = _occurrences(place["group"]) if "group" in place else 1
        count += own * max(times, 1) if type(times) is int else own
    return count


@contextmanager
def _refused_at(place: JsonPlace) -> Iterator[None]:
    """Say of what `Pattern` refuses where it stands."""
    try:
        yield
    except RuleError:
        raise
    except MillraceError as error:
        place.fail(str(error))


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
    if part.gap is not None:
        form["within"] = _duration_form(part.gap)
    return form


def _quantifier_form(quantifier: Quantifier) -> dict[str, Any]:
    form: dict[str, Any] = {}
    least, most, inner = quantifier.least, quantifier.most, quantifier.inner
    if most is None:
        form["times"] = {"from": least}
    elif least != most or quantifier.gap is not None:
        form["times"] = {"from": least, "to": most}
    elif least != 1 or quantifier.greedy or inner is not Contiguity.RELAXED:
        form["times"] = least
    if quantifier.gap is not None:
        form["times"]["within"] = _duration_form(quantifier.gap)
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
