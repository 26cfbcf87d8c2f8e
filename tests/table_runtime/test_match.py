"""MATCH_RECOGNIZE against a search through all ways to map rows to variables, whatever the epochs.

The model is told the rules of Flink's page: rows follow each other without a gap, a greedy variable
takes what it can, of the matches that begin with a row the one that ends first is found, and one
that began earlier wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.planner.query_tables import TABLES, bound
from tests.table_runtime.subtask import MAXIMUM, Row, Subtask, columns

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.batch import ColumnBatch
from millrace.expressions.session_settings import SessionSettings
from millrace.planner.binder.errors import SqlValidationError
from millrace.planner.execution.match import match_spec
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import Match
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.table_runtime.match import MatchOperator, MatchSpec

EPOCH = datetime(1970, 1, 1)
INPUT = TABLES["orders"].row_type
NAMES = "ABCD"


def spec_of(clauses: str, partition: str = "PARTITION BY currency", order: str = "ts") -> MatchSpec:
    """The spec of a pattern over ``orders``: id, currency, amount, ts, proc."""
    node: RelNode = bound(
        f"SELECT * FROM orders MATCH_RECOGNIZE ({partition} ORDER BY {order} {clauses})"
    )
    while not isinstance(node, Match):
        (node,) = node.inputs
    return match_spec(node, SessionSettings())


@dataclass(frozen=True)
class Event:
    """A row: amounts are small, times in ms."""

    id: int
    key: str
    amount: int | None
    time: int

    def row(self) -> Row:
        return (self.id, self.key, self.amount, EPOCH + timedelta(milliseconds=self.time), EPOCH)


# -- the model -----------------------------------------------------------------------------------

Taken = list[tuple[str, Event]]
"""Names of variables and the rows mapped to them."""
Test = Callable[[str, Taken, Event], bool]
"""Whether a row fits a variable, given what was taken."""


@dataclass(frozen=True)
class Condition:
    """A condition of variable ``X``, as text and for the model."""

    text: str
    test: Test


def _own(name: str, taken: Taken) -> list[int]:
    return [e.amount for n, e in taken if n == name and e.amount is not None]


def _before(name: str, taken: Taken) -> int | None:
    own = [e.amount for n, e in taken if n == name]
    return own[-1] if own else None


def _amount(event: Event, test: Callable[[int], bool]) -> bool:
    return event.amount is not None and test(event.amount)


def _rising(name: str, taken: Taken, event: Event) -> bool:
    last = _before(name, taken)
    return last is None or _amount(event, lambda amount: amount > last)


def _above_first(name: str, taken: Taken, event: Event) -> bool:
    first = [e.amount for n, e in taken if n == "A"][:1]
    if name == "A":
        first = first or [event.amount]
    least = first[0] if first else None
    return least is not None and _amount(event, lambda amount: amount >= least)


def _not_as_two_before(name: str, taken: Taken, event: Event) -> bool:
    """LAST(amount, 2) counts the row itself as the last."""
    before = taken[-2][1].amount if len(taken) > 1 else None
    return before is None or (event.amount is not None and event.amount != before)


CONDITIONS = [
    Condition("TRUE", lambda name, taken, event: True),
    Condition("X.amount < 2", lambda name, taken, event: _amount(event, lambda a: a < 2)),
    Condition("X.amount >= 2", lambda name, taken, event: _amount(event, lambda a: a >= 2)),
    Condition("amount <> 1", lambda name, taken, event: _amount(event, lambda a: a != 1)),
    Condition("LAST(X.amount, 1) IS NULL OR X.amount > LAST(X.amount, 1)", _rising),
    Condition("X.amount >= FIRST(A.amount)", _above_first),
    Condition(
        "SUM(X.amount) < 5 AND X.amount IS NOT NULL",
        lambda name, taken, event: _amount(event, lambda a: sum(_own(name, taken)) + a < 5),
    ),
    Condition("COUNT(*) <= 3", lambda name, taken, event: len(taken) < 3),
    Condition("LAST(amount, 2) IS NULL OR LAST(amount, 2) <> X.amount", _not_as_two_before),
    Condition(
        "10 / (X.amount + 1) > 3",  # may fail, for all that is known
        lambda name, taken, event: _amount(event, lambda a: 10 // (a + 1) > 3),
    ),
]
QUANTIFIERS: dict[str, tuple[int, int, bool]] = {
    "": (1, 1, False),
    "?": (0, 1, False),
    "*": (0, 99, True),
    "+": (1, 99, True),
    "*?": (0, 99, False),
    "+?": (1, 99, False),
    "{2}": (2, 2, False),
    "{1,2}": (1, 2, True),
    "{2,}?": (2, 99, False),
    "{0,2}?": (0, 2, False),
}
"""The least, the most, and whether it is greedy."""


@dataclass(frozen=True)
class Pattern:
    """A pattern for both sides."""

    quantifiers: tuple[str, ...]
    conditions: tuple[Condition, ...]
    skip: str
    within: int | None

    def clauses(self) -> str:
        used = NAMES[: len(self.quantifiers)]
        counts = ", ".join(f"COUNT({name}.id) AS c{name}" for name in used)
        pattern = " ".join(map("".join, zip(used, self.quantifiers, strict=True)))
        within = "" if self.within is None else f"WITHIN INTERVAL '0.{self.within:03}' SECOND"
        conditions = zip(used, self.conditions, strict=True)
        define = ", ".join(f"{name} AS {c.text.replace('X', name)}" for name, c in conditions)
        return (
            f"MEASURES FIRST(id) AS f, LAST(id) AS l, {counts}, SUM(amount) AS total, "
            f"LAST(B.amount, 1) AS b AFTER MATCH SKIP {self.skip} PATTERN ({pattern}) {within} "
            f"DEFINE {define}"
        )

    def found(self, events: list[Event]) -> list[Row]:
        """The result rows of one key; its events are in order."""
        rows, start = [], 0
        while start < len(events):
            taken = next(iter(sorted(self._matches(events, start), key=len)), None)
            if taken is None:
                if self._waits(events, start):
                    break
                start += 1
                continue
            rows.append(self._row(taken))
            start = self._next(start, taken)
        return rows

    def _next(self, start: int, taken: Taken) -> int:
        if self.skip == "PAST LAST ROW":
            return start + len(taken)
        if self.skip == "TO NEXT ROW":
            return start + 1
        places = [place for place, (name, _) in enumerate(taken) if name == self.skip[-1]]
        if not places:
            raise JobExecutionError("nothing to skip to")
        place = places[0] if "FIRST" in self.skip else places[-1]
        if place == 0:
            raise JobExecutionError("nothing would be skipped")
        return start + place

    def _row(self, taken: Taken) -> Row:
        used = NAMES[: len(self.quantifiers)]
        amounts = [e.amount for _, e in taken if e.amount is not None]
        b = [e.amount for name, e in taken if name == "B"]
        return (
            taken[0][1].key,
            taken[0][1].id,
            taken[-1][1].id,
            *(sum(name == n for n, _ in taken) for name in used),
            sum(amounts) if amounts else None,
            b[-2] if len(b) > 1 else None,
        )

    def _waits(self, events: list[Event], start: int) -> bool:
        """Whether a match that begins there may still be found by rows to come."""
        if self.within is not None:
            return False  # time is over, in the end
        return any(len(taken) == len(events) - start for taken, _ in self._ways(events, start))

    def _matches(self, events: list[Event], start: int) -> Iterator[Taken]:
        """Complete mappings, those to earlier variables first."""
        for taken, complete in self._ways(events, start):
            if complete:
                yield taken

    def _ways(self, events: list[Event], start: int) -> Iterator[tuple[Taken, bool]]:
        """All ways to map rows from there on; whether each is complete."""
        end = len(self.quantifiers)

        def on(taken: Taken, variable: int, count: int) -> Iterator[tuple[Taken, bool]]:
            """Go on with so many rows mapped to a variable."""
            exits = self._exits(variable, count)
            if taken:
                yield taken, end in exits
            if start + len(taken) == len(events):
                return
            event = events[start + len(taken)]
            if self.within is not None and event.time - events[start].time >= self.within:
                return

            def fits(index: int) -> bool:
                return self.conditions[index].test(NAMES[index], taken, event)

            more = variable >= 0 and count < QUANTIFIERS[self.quantifiers[variable]][1]
            targets = [variable] if more and fits(variable) else []
            if not (targets and QUANTIFIERS[self.quantifiers[variable]][2]):
                for index in exits:
                    if index == end:
                        break
                    if fits(index):
                        targets.append(index)
                        if QUANTIFIERS[self.quantifiers[index]][2]:
                            break  # greedy: those behind it do not get the row
            for index in targets:
                mapped = [*taken, (NAMES[index], event)]
                yield from on(mapped, index, count + 1 if index == variable else 1)

        yield from on([], -1, 0)

    def _exits(self, variable: int, count: int) -> list[int]:
        """The variables that the next row may be of beside this one; that behind the last is the
        end."""
        if variable >= 0 and count < QUANTIFIERS[self.quantifiers[variable]][0]:
            return []
        found = []
        for index in range(variable + 1, len(self.quantifiers) + 1):
            found.append(index)
            if index < len(self.quantifiers) and QUANTIFIERS[self.quantifiers[index]][0]:
                break
        return found


def pattern_of(draw: st.DrawFn) -> Pattern:
    count = draw(st.integers(2, 4))
    skips = ["PAST LAST ROW", "TO NEXT ROW", "TO LAST B", "TO FIRST B"]
    return Pattern(
        tuple(draw(st.sampled_from(list(QUANTIFIERS))) for _ in range(count)),
        tuple(draw(st.sampled_from(CONDITIONS)) for _ in range(count)),
        draw(st.sampled_from(skips)),
        draw(st.sampled_from([None, 3, 6])),
    )


patterns = st.composite(pattern_of)()
amounts = st.sampled_from([None, 0, 1, 2, 3])


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Rows of two keys in the order of time, a ms or two apart."""
    made, time = [], 0
    for number in range(draw(st.integers(1, 14))):
        time += draw(st.integers(1, 2))
        made.append(Event(number, draw(st.sampled_from("ab")), draw(amounts), time))
    return made


def _divides_by_zero(pattern: Pattern) -> bool:
    return any("10 /" in condition.text for condition in pattern.conditions)


def batch_of(events: list[Event]) -> ColumnBatch:
    return columns(INPUT, [("+I", event.row()) for event in events])


class Job:
    """One subtask, later two, fed epoch by epoch."""

    def __init__(self, spec: MatchSpec) -> None:
        self.subtasks = [Subtask(partial(MatchOperator, spec))]
        self.rows: list[Row] = []

    def epoch(self, events: list[Event], watermark: int, abort: bool = False) -> None:
        count = len(self.subtasks)
        for index, subtask in enumerate(self.subtasks):
            groups = key_group_range(index, count, MAXIMUM)
            own = [event for event in events if key_group_of(event.key, MAXIMUM) in groups]
            batches = [batch_of(own[:1]), batch_of(own[1:])]
            self.rows += [row for _, row in subtask.epoch(batches, watermark, abort)]

    def rescale(self) -> None:
        """The state goes to two new subtasks."""
        if len(self.subtasks) == 1:
            (subtask,) = self.subtasks
            self.subtasks = [subtask.restored(index, 2) for index in range(2)]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(pattern=patterns, events=streams(), data=st.data())
def test_matches_are_those_of_an_exhaustive_search(
    pattern: Pattern, events: list[Event], data: st.DataObject
) -> None:
    try:
        job = Job(spec_of(pattern.clauses()))
    except SqlValidationError:
        assume(False)
    try:
        expected = [
            row for key in "ab" for row in pattern.found([e for e in events if e.key == key])
        ]
    except JobExecutionError:
        with pytest.raises(JobExecutionError, match="to which the strategy skips"):
            job.epoch(events, MAX_WATERMARK)
        return
    left, watermark = data.draw(st.permutations(events)), 0
    while left:
        size = data.draw(st.integers(1, len(left)))
        part, left = left[:size], left[size:]
        if data.draw(st.integers(0, 4)) == 0:
            job.epoch(part, data.draw(st.integers(watermark, 40)), abort=True)
        watermark = min([event.time for event in left], default=40) - 1
        job.epoch(part, watermark)
        if data.draw(st.integers(0, 4)) == 0:
            job.rescale()
    job.epoch([], MAX_WATERMARK)
    assert sorted(job.rows, key=repr) == sorted(expected, key=repr)


PAIRS = "MEASURES A.id AS a, B.id AS b AFTER MATCH SKIP PAST LAST ROW PATTERN (A B)"


def test_rows_of_one_time_are_in_the_order_of_the_other_columns() -> None:
    spec = spec_of(
        f"{PAIRS} DEFINE A AS TRUE",
        order="ts, id DESC",
    )
    job = Job(spec)
    job.epoch([Event(number, "a", 0, 5) for number in (1, 4)], 4)
    job.epoch([Event(number, "a", 0, 5) for number in (2, 3)], 5)
    assert job.rows == [("a", 4, 3), ("a", 2, 1)]


def test_without_a_partition_all_rows_are_one() -> None:
    spec = spec_of(
        f"{PAIRS} DEFINE A AS TRUE",
        partition="",
    )
    subtask = Subtask(partial(MatchOperator, spec))
    subtask.epoch([batch_of([Event(1, "a", 0, 1)])], 1)
    subtask.epoch([batch_of([Event(2, "b", 0, 3)])], 3, abort=True)
    subtask.epoch([batch_of([Event(2, "b", 0, 2)])], 2)
    assert [row for _, row in subtask.changes] == [(1, 2)]


def test_partitions_of_several_columns_and_of_nulls() -> None:
    spec = spec_of(
        f"{PAIRS} DEFINE A AS TRUE",
        partition="PARTITION BY amount, currency",
    )
    events = [Event(n, "ab"[n % 2], [None, 1][n // 2 % 2], n + 1) for n in range(8)]
    subtask = Subtask(partial(MatchOperator, spec))
    subtask.epoch([batch_of(events[:5])], 5)
    found = [row for _, row in subtask.changes]
    for index in range(2):
        part = subtask.restored(index, 2)
        groups = key_group_range(index, 2, MAXIMUM)
        own = [e for e in events[5:] if key_group_of((e.amount, e.key), MAXIMUM) in groups]
        found += [row for _, row in part.epoch([batch_of(own)], 9)]
    expected = [(None, "a", 0, 4), (None, "b", 1, 5), (1, "a", 2, 6), (1, "b", 3, 7)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_rows_behind_the_watermark_are_dropped_and_counted() -> None:
    job = Job(spec_of(f"{PAIRS} DEFINE A AS TRUE"))
    job.epoch([Event(1, "a", 0, 5)], 6)
    job.epoch([Event(2, "a", 0, 6), Event(3, "a", 0, 7)], 8)
    assert job.rows == [("a", 1, 3)]
    again = job.subtasks[0].restored()
    assert again.epoch([batch_of([Event(4, "a", 0, 8), Event(5, "a", 0, 9)])], 8) == []
    again.epoch([batch_of([Event(6, "a", 0, 10)])], 10)
    assert [row for _, row in again.changes] == [("a", 5, 6)]
    assert again.operator.context.metrics.metrics["numLateRecordsDropped"].get_count() == 1


def test_in_processing_time_rows_are_taken_as_they_come() -> None:
    spec = spec_of(
        f"{PAIRS} WITHIN INTERVAL '1' SECOND DEFINE A AS TRUE",
        order="proc, id",
    )
    subtask = Subtask(partial(MatchOperator, spec))
    subtask.now = 1000
    assert subtask.epoch([batch_of([Event(n, "a", 0, 1) for n in (3, 1)]), batch_of([])])
    assert [row for _, row in subtask.changes] == [("a", 1, 3)]
    subtask.epoch([batch_of([Event(4, "a", 0, 1)])])
    assert subtask.operator.next_wakeup() == 2000
    subtask.now = 2000
    subtask.epoch([batch_of([Event(5, "a", 0, 1)])])
    subtask.now = 2999
    subtask.epoch([batch_of([Event(6, "a", 0, 1)])])
    assert [row for _, row in subtask.changes][1:] == [("a", 5, 6)]


def test_event_time_of_matches_in_processing_time_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="use MATCH_PROCTIME"):
        spec_of("MEASURES MATCH_ROWTIME() AS t PATTERN (A B) DEFINE A AS TRUE", order="proc")


def test_a_match_that_is_held_back_is_given_when_the_earlier_one_ends() -> None:
    """The first row's match could be longer: until an hour is over it might still be found."""
    spec = spec_of(
        "MEASURES A.id AS a, C.id AS c, MATCH_ROWTIME() AS t PATTERN (A B* C) WITHIN INTERVAL "
        "'0.010' SECOND DEFINE A AS A.amount > 0, B AS B.amount < A.amount, C AS C.amount > 1"
    )
    job = Job(spec)
    amounts = [(1, 9), (2, 2), (3, 3)]  # 9 takes all that is less; 2 is followed by 3
    job.epoch([Event(number, "a", amount, number) for number, amount in amounts], 5)
    assert job.rows == []
    job.rescale()
    job.epoch([], 10)
    assert job.rows == []
    job.epoch([], 11)
    assert job.rows == [("a", 2, 3, EPOCH + timedelta(milliseconds=11))]
