"""The keyed strict pattern of ``benchmarks/workloads.md``, which MATCH_RECOGNIZE finds too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from millrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from millrace.datastream import DataStream

PRIME = 2_654_435_761
KEYS = 10_000
VALUES = 1_000_003
FIRST, SECOND = 10_000, 500_000


def reading(i: int) -> tuple[int, int]:
    """Key and value of a number."""
    return i * PRIME % KEYS, i * i % VALUES


def strict() -> Pattern:
    """One event of a hundred can be the first; every second of those is followed by a second, and
    of these every second one by a third."""
    return (
        Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda reading: reading[1] < FIRST)
        .next("b")
        .where(lambda reading: reading[1] < SECOND)
        .next("c")
        .where(lambda reading: reading[1] >= SECOND)
    )


def columns(match: dict[str, list[tuple[int, int]]]) -> tuple[int, int, int, int]:
    """What MATCH_RECOGNIZE measures: the key, and the value of each event."""
    [(key, a)], [(_, b)], [(_, c)] = match["a"], match["b"], match["c"]
    return key, a, b, c


def find_strict(numbers: DataStream[int]) -> DataStream[Any]:
    keyed = numbers.map(reading).key_by(itemgetter(0))
    return CEP.pattern(keyed, strict()).select(columns)


def expected_strict(n: int, time_of: Callable[[int], int]) -> Counter[Any]:
    """Straight from the definition."""
    events: dict[int, list[tuple[int, int]]] = {}
    for i in range(n):
        key, value = reading(i)
        events.setdefault(key, []).append((time_of(i), value))
    found: Counter[Any] = Counter()
    for key, timed in events.items():
        values = [value for _, value in sorted(timed)]
        for a, b, c in zip(values, values[1:], values[2:], strict=False):
            if a < FIRST and b < SECOND <= c:
                found[key, a, b, c] += 1
    return found
