"""Input of a subtask in pieces: the same as all of it at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.types.batch import Batch, ColumnBatch, ImmutableRows, RowBatch
from millrace.runtime.buffer import Buffer, BufferKind, end_of, status_of
from millrace.runtime.resident.gate import InputGate
from millrace.runtime.resident.intake import Intake
from millrace.runtime.watermark_valve import Channel, WatermarkValve

CHANNELS: list[Channel] = [(0, 0), (0, 1), (1, 0)]
"""Two producers of the first input, one of the second."""


@dataclass
class Arrival:
    """Something that arrives on a channel."""

    channel: Channel
    watermark: int
    batch: Batch | None = None
    """Records. None: a status."""
    idle: bool = False


@dataclass
class Head:
    """Subtask that notes what reaches its operators, with a real valve."""

    batches: deque[Batch]
    events: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.valve = WatermarkValve(CHANNELS)
        self.inputs = {edge: Input(edge, self) for edge in (0, 1)}

    def decoded(self, channel: Channel, buffer: Buffer) -> tuple[Input, Batch]:
        return self.inputs[channel[0]], self.batches.popleft()

    def hear(self, channel: Channel, watermark: int, idle: bool) -> bool:
        return self.valve.hear(channel, watermark, idle)

    def pass_watermark(self) -> None:
        self.events.append(self.valve.watermark)


@dataclass
class Input:
    """One input of the first operator."""

    number: int
    head: Head

    def emit(self, batch: Batch) -> None:
        self.head.sizes.append(len(batch))
        is_immutable = isinstance(batch, ImmutableRows)
        rows = batch.to_rows()
        times = rows.timestamps or [None] * len(rows)
        pairs = zip(rows.values, times, strict=True)
        self.head.events += [(self.number, *pair, is_immutable) for pair in pairs]


def rows(values: list[int], timed: bool = False, immutable: bool = False) -> Batch:
    form = ImmutableRows if immutable else RowBatch
    return form(list(values), [10 * value for value in values] if timed else None)


def columns(values: list[int], timed: bool = False) -> Batch:
    times = pa.array([10 * v for v in values], pa.int64()) if timed else None
    return ColumnBatch(pa.record_batch({"x": values}), times, form="value")


def copied(batch: Batch) -> Batch:
    if isinstance(batch, RowBatch):
        times = batch.timestamps
        return type(batch)(list(batch.values), None if times is None else list(times))
    return batch


def filled(arrivals: list[Arrival]) -> tuple[InputGate, deque[Batch]]:
    """A gate before which all has arrived, and the batches in the order in which they are taken."""
    gate = InputGate(CHANNELS)
    gate.open()
    waiting: dict[Channel, deque[Batch]] = {channel: deque() for channel in CHANNELS}
    for arrival in arrivals:
        edge, producer = arrival.channel
        if arrival.batch is None:
            gate.put(
                arrival.channel, status_of(0, edge, producer, 1, arrival.watermark, arrival.idle)
            )
            continue
        waiting[arrival.channel].append(copied(arrival.batch))
        size = len(arrival.batch)
        kind = BufferKind.RECORDS
        gate.put(
            arrival.channel, Buffer(0, edge, producer, 1, 0, kind, arrival.watermark, size, b"")
        )
    turns: deque[Batch] = deque()
    other = InputGate(CHANNELS)
    other.open()
    for channel, queue in gate._queues.items():
        for buffer in queue:
            other.put(channel, buffer)
    while (taken := other.take()) is not None:
        if taken[1].kind == BufferKind.RECORDS:
            turns.append(waiting[taken[0]].popleft())
    return gate, turns


def naive(arrivals: list[Arrival]) -> Head:
    """All at once: each buffer, and the watermark after it, as it is taken from the gate."""
    gate, batches = filled(arrivals)
    head = Head(batches)
    while (taken := gate.take()) is not None:
        channel, buffer = taken
        if buffer.kind == BufferKind.STATUS:
            advances = head.hear(channel, buffer.watermark, buffer.payload[0] == 1)
        else:
            to, batch = head.decoded(channel, buffer)
            to.emit(batch)
            advances = head.hear(channel, buffer.watermark, idle=False)
        if advances:
            head.pass_watermark()
    return head


def in_pieces(arrivals: list[Arrival], limits: list[int]) -> tuple[Head, Intake]:
    gate, batches = filled(arrivals)
    head = Head(batches)
    intake = Intake(head, gate)  # type: ignore[arg-type]
    turns = deque(limits)
    while intake.step(limit := turns.popleft() if turns else 1) is not None:
        assert not head.sizes or head.sizes[-1] <= max(limit, 1)
        head.sizes.clear()
    return head, intake


VALUES = st.lists(st.integers(0, 99), min_size=1, max_size=12)
BATCHES = st.one_of(
    st.builds(rows, VALUES, st.booleans(), st.booleans()), st.builds(columns, VALUES, st.booleans())
)
ARRIVALS = st.lists(
    st.builds(
        Arrival,
        st.sampled_from(CHANNELS),
        st.integers(0, 20),
        st.one_of(st.none(), BATCHES),
        st.booleans(),
    ),
    max_size=20,
)


def values_of(head: Head) -> list[Any]:
    """Records and watermarks, without whether records may be changed."""
    return [event if isinstance(event, int) else event[:3] for event in head.events]


def records_of(head: Head) -> list[Any]:
    return [event for event in values_of(head) if not isinstance(event, int)]


def records_before_watermarks(head: Head) -> dict[int, int]:
    """Number of records that were processed before each watermark."""
    before: dict[int, int] = {}
    count = 0
    for event in head.events:
        if isinstance(event, int):
            before[event] = count
        else:
            count += 1
    return before


@settings(max_examples=50)
@given(ARRIVALS, st.lists(st.integers(1, 30), max_size=30))
def test_pieces_give_the_same_as_all_at_once(arrivals: list[Arrival], limits: list[int]) -> None:
    """Records of each input and their event times. Watermarks may be joined, but they come no
    earlier, so that no record is late."""
    head, intake = in_pieces(arrivals, limits)
    expected = naive(arrivals)
    assert records_of(head) == records_of(expected)
    before, earliest = records_before_watermarks(head), records_before_watermarks(expected)
    assert list(before) == sorted(before)
    assert before.keys() <= earliest.keys()
    assert list(before)[-1:] == list(earliest)[-1:]
    assert all(before[watermark] >= earliest[watermark] for watermark in before)
    assert intake.is_empty
    taken = dict.fromkeys(CHANNELS, 0)
    for arrival in arrivals:
        taken[arrival.channel] += 0 if arrival.batch is None else len(arrival.batch)
    assert {channel: count for channel, count in taken.items() if count} == {
        channel: count for channel, count in intake.taken.items() if count
    }


@dataclass
class Live:
    """A subtask whose input arrives between its steps, and what it did.

    Args:
        limit: records of a piece.
    """

    limit: int

    def __post_init__(self) -> None:
        self.batches: dict[Channel, deque[Batch]] = {channel: deque() for channel in CHANNELS}
        self.gate = InputGate(CHANNELS)
        self.gate.open()
        self.model = Model(Head(deque()))
        self.head = Head(deque())
        take = self.gate.take

        def noted() -> tuple[Channel, Buffer] | None:
            taken = take()
            if taken is not None:
                channel, buffer = taken
                if buffer.kind == BufferKind.RECORDS:
                    batch = self.batches[channel].popleft()
                    self.head.batches.append(copied(batch))
                    self.model.take(channel, buffer, batch)
                else:
                    self.model.take(channel, buffer, None)
            return taken

        self.gate.take = noted  # type: ignore[method-assign]
        self.intake = Intake(self.head, self.gate)  # type: ignore[arg-type]

    def put(self, arrival: Arrival) -> None:
        edge, producer = arrival.channel
        if arrival.batch is None:
            buffer = status_of(0, edge, producer, 1, arrival.watermark, arrival.idle)
        else:
            self.batches[arrival.channel].append(arrival.batch)
            kind, size = BufferKind.RECORDS, len(arrival.batch)
            buffer = Buffer(0, edge, producer, 1, 0, kind, arrival.watermark, size, b"")
        self.gate.put(arrival.channel, buffer)

    def step(self) -> bool:
        """Do one step. Returns whether there was input."""
        return self.intake.step(self.limit) is not None


@dataclass
class Model:
    """The watermark that is due after each number of records, if nothing is joined."""

    head: Head
    records: int = 0
    due: list[tuple[int, int]] = field(default_factory=list)
    """Each watermark, with the records before it."""

    def take(self, channel: Channel, buffer: Buffer, batch: Batch | None) -> None:
        if batch is not None:
            self.records += len(batch)
        idle = batch is None and buffer.payload[0] == 1
        if self.head.hear(channel, buffer.watermark, idle):
            self.due.append((self.head.valve.watermark, self.records))


TURNS = st.lists(st.one_of(ARRIVALS, st.integers(1, 4)), max_size=12)
"""What arrives before the next steps, and numbers of steps."""


@settings(max_examples=60)
@given(TURNS, st.integers(1, 15))
def test_no_order_puts_off_a_watermark_by_more_than_one_piece(
    turns: list[list[Arrival] | int], limit: int
) -> None:
    """A due watermark passes after the piece that is being filled, and after no record more."""
    live = Live(limit)
    for turn in turns:
        if isinstance(turn, list):
            for arrival in turn:
                live.put(arrival)
        else:
            for _ in range(turn):
                live.step()
    while live.step():
        pass
    before = records_before_watermarks(live.head)
    for watermark, earliest in live.model.due:
        passed = [count for other, count in before.items() if other >= watermark]
        assert passed, f"the watermark {watermark} never passed"
        assert earliest <= min(passed) <= earliest + limit
    assert len(records_of(live.head)) == live.model.records
    assert live.intake.is_empty


@pytest.mark.parametrize(
    "unlike",
    [
        pytest.param(lambda n: Arrival((n % 2, 0), n, rows([n])), id="two inputs"),
        pytest.param(lambda n: Arrival((0, 0), n, rows([n], timed=n % 2 == 0)), id="timestamps"),
        pytest.param(lambda n: Arrival((0, 0), n, (rows, columns)[n % 2]([n])), id="columns"),
    ],
)
def test_a_watermark_passes_between_buffers_that_are_not_joined(
    unlike: Callable[[int], Arrival],
) -> None:
    """Although the gate is never empty, as under load."""
    arrivals = [unlike(n) for n in range(1, 41)]
    others = {*CHANNELS} - {arrival.channel for arrival in arrivals}
    arrivals = [*(Arrival(other, 99) for other in sorted(others)), *arrivals]
    head, _ = in_pieces(arrivals, [10] * 90)
    assert len(records_before_watermarks(head)) >= 39
    assert values_of(head) == values_of(naive(arrivals))


def test_a_large_batch_does_not_put_off_a_watermark_that_is_due() -> None:
    """Neither one after a small batch nor one of a status."""
    statuses = [Arrival(channel, 99) for channel in CHANNELS[1:]]
    arrivals = [
        *statuses,
        Arrival((0, 0), 1, rows([0])),
        Arrival((0, 0), 2, rows(list(range(50)))),
        Arrival((0, 0), 3),
        Arrival((0, 0), 4, rows(list(range(50)))),
    ]
    head, _ = in_pieces(arrivals, [10] * 30)
    assert records_before_watermarks(head) == {1: 1, 2: 51, 3: 51, 4: 101}


@settings(max_examples=50)
@given(ARRIVALS, st.lists(st.integers(1, 30), max_size=30))
def test_records_that_may_be_changed_are_never_called_immutable(
    arrivals: list[Arrival], limits: list[int]
) -> None:
    head, _ = in_pieces(arrivals, limits)
    records = [event for event in head.events if not isinstance(event, int)]
    expected = [event for event in naive(arrivals).events if not isinstance(event, int)]
    for record, true in zip(records, expected, strict=True):
        assert true[3] or not record[3]


def test_small_batches_of_one_input_are_joined() -> None:
    gate, batches = filled([Arrival((0, n % 2), 0, rows([n], immutable=True)) for n in range(4)])
    head = Head(batches)
    intake = Intake(head, gate)  # type: ignore[arg-type]
    assert intake.step(100) == 4
    assert head.sizes == [4]
    assert all(event[3] for event in head.events)  # still immutable
    assert intake.step(100) is None


def test_small_columnar_batches_are_joined() -> None:
    gate, batches = filled([Arrival((0, n % 2), 0, columns([n], True)) for n in range(4)])
    head = Head(batches)
    intake = Intake(head, gate)  # type: ignore[arg-type]
    assert intake.step(100) == 4
    assert head.sizes == [4]
    assert [event[1:3] for event in head.events] == [(n, 10 * n) for n in range(4)]
    assert intake.is_empty


def test_columns_that_fit_into_no_common_batch_keep_their_order() -> None:
    """Dictionaries with 8-bit indices hold 127 values at most."""
    values = [[f"{n}-{i}" for i in range(100)] for n in range(3)]
    kind = pa.dictionary(pa.int8(), pa.string())
    batches = [
        ColumnBatch(pa.record_batch({"x": pa.array(some).cast(kind)}), form="value")
        for some in values
    ]
    gate, waiting = filled([Arrival((0, 0), 0, batch) for batch in batches])
    head = Head(waiting)
    intake = Intake(head, gate)  # type: ignore[arg-type]
    assert [intake.step(1000) for _ in range(4)] == [100, 100, 100, None]
    assert values_of(head) == [(0, value, None) for some in values for value in some]
    assert intake.is_empty


def test_batches_of_two_inputs_are_not_joined() -> None:
    arrivals = [Arrival((0, 0), 0, rows([1])), Arrival((1, 0), 0, rows([2]))]
    assert in_pieces(arrivals, [10, 10])[0].events == [(0, 1, None, False), (1, 2, None, False)]


def buffers_with_watermarks(count: int) -> tuple[Head, Intake]:
    """Buffers of one record each, with a new watermark after each."""
    statuses = [Arrival(channel, 99) for channel in CHANNELS[1:]]
    gate, batches = filled([*statuses, *(Arrival((0, 0), n, rows([n])) for n in range(count))])
    head = Head(batches)
    return head, Intake(head, gate)  # type: ignore[arg-type]


def test_a_watermark_follows_what_is_joined_with_the_records_before_it() -> None:
    head, intake = buffers_with_watermarks(3)
    assert [intake.step(10), intake.step(10), intake.step(10)] == [3, 0, None]
    assert values_of(head) == [(0, 0, None), (0, 1, None), (0, 2, None), 2]


def test_further_input_does_not_put_off_a_watermark() -> None:
    head, intake = buffers_with_watermarks(3)
    assert [intake.step(1) for _ in range(7)] == [1, 0, 1, 0, 1, 0, None]
    assert values_of(head) == [(0, 0, None), 0, (0, 1, None), 1, (0, 2, None), 2]


@pytest.mark.parametrize("kind", [rows, columns])
def test_a_large_batch_is_cut(kind: Any) -> None:
    head, _ = in_pieces([Arrival((0, 0), 0, kind(list(range(10)), True))], [3, 3])
    assert [event[1] for event in head.events] == list(range(10))
    assert [event[2] for event in head.events] == [10 * n for n in range(10)]


def test_a_barrier_is_left_to_the_gate() -> None:
    gate, batches = filled([Arrival((0, 0), 0, rows([1]))])
    gate.put((0, 0), end_of(0, 0, 0, 1, 0, False, [1]))
    head = Head(batches)
    intake = Intake(head, gate)  # type: ignore[arg-type]
    assert intake.step(10) == 1
    assert intake.step(10) is None
    assert [channel for channel, _ in gate.statuses] == [(0, 0)]
