"""A naive model of MATCH_RECOGNIZE, and random clauses of it.

From each row on, the model follows all ways of taking the rows behind it, row after row: a greedy
variable takes what fits it, and only what it cannot take goes to those behind it; any other
variable may take a row or leave it to them. The way that ends first is the match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

__all__ = ["CLAUSES", "MatchClauses", "matches_of"]

Row = dict[str, Any]
Taken = tuple[tuple[str, Row], ...]
"""Rows with the variables that took them."""
Fits = Callable[[Taken, str, Row], bool]


@dataclass(frozen=True)
class Condition:
    """What a variable asks of a row, in SQL (``{0}`` is the variable) and in Python."""

    text: str
    fits: Fits


def _of(taken: Taken, variable: str) -> list[Any]:
    return [row["v"] for name, row in taken if name == variable]


def _rises(taken: Taken, variable: str, row: Row) -> bool:
    before = _of(taken, variable)
    if not before:
        return True
    return before[-1] is None or (row["v"] is not None and row["v"] > before[-1])


def _above_all(taken: Taken, variable: str, row: Row) -> bool:
    before = taken[-1][1]["v"] if taken else None
    return before is not None and row["v"] is not None and row["v"] > before


def _small_sum(taken: Taken, variable: str, row: Row) -> bool:
    values = [v for v in (*_of(taken, variable), row["v"]) if v is not None]
    return bool(values) and sum(values) < 12


def _few(taken: Taken, variable: str, row: Row) -> bool:
    return len(taken) + 1 <= 3


def _above_first(taken: Taken, variable: str, row: Row) -> bool:
    first = taken[0][1]["v"] if taken else row["v"]
    return first is not None and row["v"] is not None and row["v"] >= first


def _value(test: Callable[[Any], bool]) -> Fits:
    return lambda taken, variable, row: row["v"] is not None and test(row["v"])


CONDITIONS = [
    Condition("TRUE", lambda taken, variable, row: True),
    Condition("{0}.v > 5", _value(lambda v: v > 5)),
    Condition("{0}.v <= 5", _value(lambda v: v <= 5)),
    Condition("{0}.v BETWEEN 3 AND 8", _value(lambda v: 3 <= v <= 8)),
    Condition("{0}.v IS NULL", lambda taken, variable, row: row["v"] is None),
    Condition("{0}.s = 'a'", lambda taken, variable, row: row["s"] == "a"),
    Condition("LAST({0}.v, 1) IS NULL OR {0}.v > LAST({0}.v, 1)", _rises),
    Condition("{0}.v > LAST(v, 1)", _above_all),
    Condition("SUM({0}.v) < 12", _small_sum),
    Condition("COUNT(*) <= 3", _few),
    Condition("{0}.v >= FIRST(v)", _above_first),
]


@dataclass(frozen=True)
class Variable:
    """A variable of a pattern."""

    name: str
    least: int
    most: int | None
    reluctant: bool
    condition: Condition

    @property
    def greedy(self) -> bool:
        """Whether it leaves no row that fits it to others; ``?`` and ``{n}`` do not ask."""
        bounds = self.least, self.most
        return not self.reluctant and bounds != (0, 1) and self.least != self.most

    def __str__(self) -> str:
        if (self.least, self.most) == (1, 1):
            return self.name
        most = "" if self.most is None else self.most
        bounds = str(self.least) if self.least == self.most else f"{self.least},{most}"
        return f"{self.name}{{{bounds}}}{'?' if self.reluctant else ''}"


@dataclass(frozen=True)
class MatchClauses:
    """The clauses of MATCH_RECOGNIZE over a table with ``k``, ``ts``, ``id``, ``v`` and ``s``."""

    pattern: tuple[Variable, ...]
    within: int | None
    past_last: bool

    def query(self, table: str) -> str:
        """A row per match: its partition, its first and last row, and what each variable took."""
        names = [each.name for each in self.pattern]
        measures = ["FIRST(id) AS f", "LAST(id) AS l", "COUNT(*) AS n"]
        measures += [f"LAST({name}.id) AS l{name}" for name in names]
        measures += [f"COUNT({name}.id) AS n{name}" for name in names]
        measures += [f"SUM({name}.v) AS s{name}" for name in names]
        defined = ", ".join(
            f"{each.name} AS {each.condition.text.format(each.name)}" for each in self.pattern
        )
        skip = "PAST LAST ROW" if self.past_last else "TO NEXT ROW"
        within = "" if self.within is None else f" WITHIN INTERVAL '{self.within}' SECOND"
        return (
            f"SELECT * FROM {table} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
            f"MEASURES {', '.join(measures)} AFTER MATCH SKIP {skip} "
            f"PATTERN ({' '.join(map(str, self.pattern))}){within} DEFINE {defined})"
        )


QUANTIFIERS = [(1, 1, False), (1, None, False), (0, None, False), (2, 2, False), (1, 3, False)]
QUANTIFIERS += [(0, 1, False), (0, None, True), (1, None, True), (1, 2, True), (0, 2, False)]


def _clauses(
    variables: list[tuple[tuple[int, int | None, bool], Condition]],
    last: Condition,
    within: int | None,
    past_last: bool,
) -> MatchClauses:
    made = [
        Variable(name, *quantifier, condition)
        for name, (quantifier, condition) in zip("ABC", variables, strict=False)
    ]
    return MatchClauses((*made, Variable("Z", 1, 1, False, last)), within, past_last)


def _is_accepted(clauses: MatchClauses) -> bool:
    """As in Flink: behind a greedy variable stands one that takes a row."""
    pairs = zip(clauses.pattern, clauses.pattern[1:], strict=False)
    return not any(before.greedy and variable.least == 0 for before, variable in pairs)


CLAUSES = st.builds(
    _clauses,
    st.lists(
        st.tuples(st.sampled_from(QUANTIFIERS), st.sampled_from(CONDITIONS)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(CONDITIONS),
    st.none() | st.sampled_from([4, 9, 20]),
    st.booleans(),
).filter(_is_accepted)

Way = tuple[int, int, Taken]
"""The place of a variable, how many rows it has, and the rows that all took."""


def _steps(pattern: Sequence[Variable], way: Way, row: Row) -> Iterator[Way]:
    """The ways that go on with a row."""
    place, count, taken = way
    while place < len(pattern):
        variable = pattern[place]
        can_take = variable.most is None or count < variable.most
        if can_take and variable.condition.fits(taken, variable.name, row):
            yield place, count + 1, (*taken, (variable.name, row))
            if variable.greedy:
                return
        if count < variable.least:
            return
        place, count = place + 1, 0


def _first_ends(clauses: MatchClauses, rows: Sequence[Row], start: int) -> list[Taken] | None:
    """What the ways take that end first, of those that begin at a row; None: none has ended, and
    one could with further rows."""
    pattern = clauses.pattern
    ways: list[Way] = [(0, 0, ())]
    for row in rows[start:]:
        if clauses.within is not None:
            late = rows[start]["ts"] + timedelta(seconds=clauses.within)
            if row["ts"] >= late:
                return []
        ways = [after for way in ways for after in _steps(pattern, way, row)]
        ended = [taken for place, _, taken in ways if place == len(pattern) - 1]
        if ended:
            return ended
    # with WITHIN, the end of the rows is the end of its time, too
    return None if ways and clauses.within is None else []


def _measured(clauses: MatchClauses, key: Any, taken: Taken) -> tuple[Any, ...]:
    parts = [[row for name, row in taken if name == each.name] for each in clauses.pattern]
    values = [[row["v"] for row in part if row["v"] is not None] for part in parts]
    return (
        key,
        taken[0][1]["id"],
        taken[-1][1]["id"],
        len(taken),
        *(part[-1]["id"] if part else None for part in parts),
        *(len(part) for part in parts),
        *(sum(found) if found else None for found in values),
    )


def matches_of(clauses: MatchClauses, rows: Sequence[Row]) -> list[set[tuple[Any, ...]]]:
    """The matches of all partitions; of one that several ways end at once, what each of them
    gives."""
    found = []
    for key in {row["k"] for row in rows}:
        part = sorted((row for row in rows if row["k"] == key), key=lambda row: row["ts"])
        start = 0
        while start < len(part):
            ends = _first_ends(clauses, part, start)
            if ends is None:
                break  # as in Flink, matches that begin later wait for it
            if ends:
                found.append({_measured(clauses, key, taken) for taken in ends})
            start += len(ends[0]) if ends and clauses.past_last else 1
    return found
