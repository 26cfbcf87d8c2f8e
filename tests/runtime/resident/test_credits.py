"""Credits between a producer and its consumers, and the pace that sets them."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.call_costs import LONGEST_PIECE, MOST_RECORDS, PIECE
from millrace.runtime.resident.credits import (
    COLUMNS_PIECE,
    FIRST_CREDIT,
    WINDOW,
    CreditWindow,
    Pace,
    pack_credit,
    unpack_credit,
)
from millrace.runtime.resident.outbox import Outbox

EDGE = 0


def test_a_credit_frame_arrives_as_it_was_sent() -> None:
    assert unpack_credit(pack_credit(3, 127, 5, MOST_RECORDS)) == (3, 127, 5, MOST_RECORDS)


class Exchange:
    """Producers and consumers that are joined by outboxes and windows, without sockets."""

    def __init__(self, producers: int, consumers: int, tasks: int) -> None:
        self.queues: list[deque[tuple[int, Buffer]]] = [deque() for _ in range(consumers)]
        self.outboxes = [
            Outbox({EDGE: consumers}, tasks, self._deliverer(p), {EDGE: producers})
            for p in range(producers)
        ]
        channels = [(EDGE, p) for p in range(producers)]
        self.windows = [CreditWindow(channels) for _ in range(consumers)]
        self.paces = [Pace() for _ in range(consumers)]
        self.held: dict[tuple[int, int], int] = {}
        """Records of each producer that wait before each consumer."""
        self.last: dict[tuple[int, int], int] = {}
        self.offered = 0

    def _deliverer(self, producer: int):
        def deliver(task: int, buffer: Buffer) -> None:
            place = producer, buffer.target
            self.held[place] = self.held.get(place, 0) + buffer.size
            self.last[place] = buffer.size
            self.queues[buffer.target].append((producer, buffer))

        return deliver

    def offer(self, producer: int, target: int, size: int) -> None:
        """A producer makes a buffer, unless it is back-pressured."""
        outbox = self.outboxes[producer]
        if not outbox.is_blocked:
            self.offered += size
            outbox.put([Buffer(target, EDGE, producer, 1, 0, BufferKind.RECORDS, 0, size, b"")])

    def process(self, consumer: int, seconds: float) -> int:
        """A consumer processes all that waits, each record in ``seconds``, and grants credit."""
        taken: dict[int, int] = {}
        queue, window, pace = self.queues[consumer], self.windows[consumer], self.paces[consumer]
        while queue:
            producer, buffer = queue.popleft()
            pace.observe(buffer.size, buffer.size * seconds)
            taken[producer] = taken.get(producer, 0) + buffer.size
            self.held[producer, consumer] -= buffer.size
        window.adapt(pace.seconds)
        for producer, records in taken.items():
            if granted := window.returned((EDGE, producer), records):
                self.outboxes[producer].add_credit(EDGE, consumer, granted)
        return sum(taken.values())


PACES = st.sampled_from([0.0, 1e-7, 1e-5, 1e-3, 0.02, 3.0])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.integers(0, 2), st.integers(0, 3), st.integers(1, 5000)),
        st.tuples(st.just("process"), st.integers(0, 3), PACES),
    ),
    max_size=60,
)


@given(STEPS, PACES, st.integers(1, 3))
def test_a_producer_gets_credit_once_all_has_been_processed(
    steps: list[tuple[object, ...]], last: float, tasks: int
) -> None:
    """No sequence of paces and sizes leaves a producer without credit for ever."""
    exchange = Exchange(3, 4, tasks)
    done = 0
    for name, *arguments in steps:
        if name == "offer":
            exchange.offer(*arguments)  # type: ignore[arg-type]
        else:
            done += exchange.process(*arguments)  # type: ignore[arg-type]
    while processed := sum(exchange.process(consumer, last) for consumer in range(4)):
        done += processed
    assert done == exchange.offered
    assert not any(outbox.is_blocked for outbox in exchange.outboxes)
    for producer in range(3):
        for target in range(4):
            exchange.offer(producer, target, 1)
    assert not any(outbox.is_blocked for outbox in exchange.outboxes)


@given(STEPS, st.integers(1, 3))
def test_what_waits_exceeds_a_window_by_a_share_and_a_buffer_of_each(
    steps: list[tuple[object, ...]], tasks: int
) -> None:
    exchange = Exchange(3, 4, tasks)
    widest = [FIRST_CREDIT] * 4
    for name, *arguments in steps:
        if name == "offer":
            exchange.offer(*arguments)  # type: ignore[arg-type]
        else:
            exchange.process(*arguments)  # type: ignore[arg-type]
        for target, window in enumerate(exchange.windows):
            widest[target] = max(widest[target], window.records)
            waiting = sum(exchange.held.get((p, target), 0) for p in range(3))
            last = sum(exchange.last.get((p, target), 0) for p in range(3))
            assert waiting <= 2 * widest[target] + last


@given(PACES.filter(bool), st.integers(1, 8))
def test_a_window_is_a_tenth_of_a_second_of_work(seconds: float, producers: int) -> None:
    """For all producers together, but at least a record of each."""
    window = CreditWindow([(EDGE, p) for p in range(producers)])
    window.adapt(seconds)
    assert 1 <= window.share <= MOST_RECORDS
    assert window.share == 1 or window.records * seconds <= WINDOW * 1.0001


def test_one_producer_of_many_gets_what_the_others_do_not_use() -> None:
    """As on a forward edge, whose other channels never send."""
    window = CreditWindow([(EDGE, p) for p in range(8)])
    window.adapt(1e-5)
    first = FIRST_CREDIT // 8
    rest = window.records - 7 * first
    assert window.returned((EDGE, 0), first) == rest
    assert window.returned((EDGE, 1), first) == window.share  # at least, whoever has the rest
    assert window.returned((EDGE, 0), rest) == window.records - 6 * first - window.share


class Stage:
    """Producers that make as much as they may, for one consumer whose time a manual clock counts.

    Args:
        record: seconds of the consumer per record.
        call: seconds of the consumer per call.
    """

    def __init__(self, producers: int, record: float, call: float, is_columnar: bool) -> None:
        self.record, self.call, self.is_columnar = record, call, is_columnar
        self.queue: deque[list[int]] = deque()
        """Producers and records of the buffers that wait."""
        self.outboxes = [
            Outbox({EDGE: 1}, 1, self._arrived, {EDGE: producers}) for _ in range(producers)
        ]
        self.window = CreditWindow([(EDGE, p) for p in range(producers)])
        self.pace = Pace()
        self.made = self.done = 0
        self.clock = 0.0

    def _arrived(self, task: int, buffer: Buffer) -> None:
        self.queue.append([buffer.channel, buffer.size])

    def produce(self) -> None:
        """Let each producer make pieces until it is blocked."""
        for producer, outbox in enumerate(self.outboxes):
            while not outbox.is_blocked:
                size = min(4096, outbox.room())
                self.made += size
                outbox.put([Buffer(0, EDGE, producer, 1, 0, BufferKind.RECORDS, 0, size, b"")])

    def process(self) -> float:
        """Process a piece, and return its seconds."""
        limit = self.pace.columns if self.is_columnar else self.pace.limit(MOST_RECORDS)
        taken: dict[int, int] = {}
        size = 0
        while self.queue and size < limit:
            producer, waiting = self.queue[0]
            some = min(waiting, limit - size)
            taken[producer] = taken.get(producer, 0) + some
            size += some
            self.queue[0][1] -= some
            if some == waiting:
                self.queue.popleft()
        took = self.call + size * self.record
        self.clock += took
        self.done += size
        self.pace.observe(size, took)
        self.window.adapt(self.pace.seconds, self.pace.least(self.is_columnar))
        for producer, records in taken.items():
            if granted := self.window.returned((EDGE, producer), records):
                self.outboxes[producer].add_credit(EDGE, 0, granted)
        return took

    def barrier(self) -> float:
        """Seconds until all that has been made before now is processed."""
        began = self.clock
        while self.made > self.done:
            self.process()
        return self.clock - began


@pytest.mark.parametrize("producers", [1, 2, 8, 32])
@pytest.mark.parametrize("record", [1e-5, 1e-4, 1e-3, 0.01, 0.1])
@pytest.mark.parametrize("call", [0.0, 0.001, 0.03, 0.15])
@pytest.mark.parametrize("is_columnar", [False, True])
def test_what_waits_before_a_barrier_does_not_grow_with_the_producers(
    producers: int, record: float, call: float, is_columnar: bool
) -> None:
    """At any time, from the first piece on. Only a record or two of each producer always wait."""
    longest = max(LONGEST_PIECE, 2 * call) if call else 0.0
    first = 2 * max(FIRST_CREDIT, producers) * (record + (call if record > PIECE else 0.0))
    most = 7 * max(WINDOW, longest) + first
    if (record, call) == (0.01, 0.0):
        most = 1.0
    for pieces in (0, 1, 2, 5, 20, 100):
        stage = Stage(producers, record, call, is_columnar)
        stage.produce()
        for _ in range(pieces):
            stage.process()
            stage.produce()
        assert stage.barrier() <= most


@pytest.mark.parametrize("producers", [1, 2, 8, 32])
@pytest.mark.parametrize("record", [1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("call", [0.001, 0.03, 0.15])
@pytest.mark.parametrize("is_columnar", [False, True])
def test_sharing_a_window_makes_no_piece_small(
    producers: int, record: float, call: float, is_columnar: bool
) -> None:
    """The rate of a consumer whose calls are expensive does not depend on its producers. Nor does
    that of a producer whose calls are, if all consumers get equally much."""
    stage = Stage(producers, record, call, is_columnar)
    for _ in range(100):
        stage.produce()
        stage.process()
    done, began = stage.done, stage.clock
    for _ in range(50):
        stage.produce()
        stage.process()
    largest = min(MOST_RECORDS, max(1, (max(LONGEST_PIECE, 2 * call) - call) / record))
    rate = (stage.done - done) / (stage.clock - began)
    assert rate >= 0.25 * largest / (call + largest * record)
    least = stage.pace.least(is_columnar)
    assert stage.window.share * min(producers, 16) >= 0.9 * least


def test_a_window_of_columns_is_never_smaller_than_a_piece() -> None:
    window = CreditWindow([(0, 0)])
    window.adapt(0.1, least=1024)
    assert window.records == 1024


@given(st.floats(1e-4, 5e-3), st.sampled_from([0.0, 1e-7, 1e-5, 1e-3, 0.01, 1.0]))
def test_pieces_of_columns_grow_until_they_take_long(call: float, record: float) -> None:
    """Whatever a call takes beside its records."""
    pace = Pace()
    for _ in range(40):
        size = pace.columns
        pace.observe(size, call + size * record)
    took = call + pace.columns * record
    assert took <= 3 * COLUMNS_PIECE or pace.columns == 1
    assert took >= COLUMNS_PIECE / 2 or pace.columns == MOST_RECORDS


def test_one_slow_piece_of_columns_is_soon_forgotten() -> None:
    """Such as one during which another process had the processor."""
    pace = Pace()
    for _ in range(20):
        pace.observe(pace.columns, 0.001)
    assert pace.columns == MOST_RECORDS
    pace.observe(1, 0.5)
    assert pace.columns == 1
    for _ in range(9):
        pace.observe(pace.columns, 0.001)
    assert pace.columns == MOST_RECORDS


def test_a_window_that_shrinks_takes_no_grant_back() -> None:
    """The producer uses up what it has, and then gets the smaller window."""
    window = CreditWindow([(EDGE, 0)])
    window.adapt(0.01)
    assert window.records == 10
    assert window.returned((EDGE, 0), FIRST_CREDIT - 20) == 0  # 20 are granted still
    assert window.returned((EDGE, 0), 14) == 0  # 6
    assert window.returned((EDGE, 0), 1) == 5


def test_grants_wait_for_half_a_window() -> None:
    """So that not every record is answered with a frame."""
    window = CreditWindow([(EDGE, 0)])
    assert window.returned((EDGE, 0), FIRST_CREDIT // 2 - 1) == 0
    assert window.returned((EDGE, 0), 1) == FIRST_CREDIT // 2


def test_an_unknown_pace_leaves_the_window() -> None:
    window = CreditWindow([(EDGE, 0)])
    window.adapt(0.0)
    assert window.records == FIRST_CREDIT


@given(st.lists(st.integers(0, 5000), max_size=40), PACES, st.integers(1, 4096))
def test_a_piece_has_a_record_and_takes_its_time_at_most(
    waiting: list[int], seconds: float, records: int
) -> None:
    """But for one larger piece, which shows whether calls have a cost of their own."""
    pace, longer = Pace(), []
    for count in waiting:
        limit = pace.limit(records)
        assert 1 <= limit <= records
        size = min(count, limit)
        if size > 1 and size * pace.seconds > PIECE * 1.0001:
            longer.append(size)
        pace.observe(size, size * seconds)
    assert len(longer) <= 1


def test_pieces_begin_small() -> None:
    pace = Pace()
    assert [pace.limit(100) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 64, 100]


def test_a_subtask_that_slows_down_gets_small_pieces_at_once() -> None:
    """One that speeds up gets larger ones with its next large piece."""
    pace = Pace()
    pace.observe(100, 100 * 0.0001)
    pace.observe(1, 0.005)
    assert pace.seconds == 0.005
    pace.observe(100, 100 * 0.0001)
    assert pace.seconds == pytest.approx((0.7 * 0.005 + 100 * 0.0001) / (0.7 + 100))
    pace.observe(0, 9.0)  # nothing was measured
    assert pace.seconds < 0.005


def test_the_rest_of_a_buffer_makes_no_piece_small() -> None:
    """A call has its own cost, which a few records have to bear alone."""
    pace = Pace()
    pace.observe(4_000, 0.004)
    pace.observe(3, 0.0003)
    assert pace.seconds == pytest.approx(1e-6, rel=0.2)


CALLS = st.floats(1e-3, 0.15)
RECORDS = st.floats(1e-7, 1e-3)
NOISE = st.lists(st.floats(0.8, 1.3), min_size=80, max_size=80)


def size_of(pace: Pace, is_columnar: bool) -> int:
    return pace.columns if is_columnar else pace.limit(MOST_RECORDS)


@pytest.mark.parametrize("is_columnar", [False, True])
@given(CALLS, RECORDS, NOISE)
def test_an_expensive_call_makes_no_piece_small(
    is_columnar: bool, call: float, record: float, noise: list[float]
) -> None:
    """The rate is within reach of that of pieces of the longest time, and no piece takes much
    longer than that. Pieces of one record took jobs to a hundredth of their rate."""
    pace, done, took = Pace(), 0, 0.0
    for number, factor in enumerate(noise):
        size = size_of(pace, is_columnar)
        seconds = (call + size * record) * factor
        pace.observe(size, seconds)
        assert seconds <= 6 * max(LONGEST_PIECE, 2 * call + 16 * record)
        if number >= len(noise) // 2:
            done, took = done + size, took + seconds
    largest = min(MOST_RECORDS, max(1, (max(LONGEST_PIECE, 2 * call) - call) / record))
    assert done / took >= 0.25 * largest / (call + largest * record)


@pytest.mark.parametrize("is_columnar", [False, True])
@given(CALLS, st.floats(1e-7, 1e-4))
def test_records_that_become_slow_get_small_pieces_at_once(
    is_columnar: bool, call: float, record: float
) -> None:
    pace = Pace()
    for _ in range(40):
        size = size_of(pace, is_columnar)
        pace.observe(size, call + size * record)
    for _ in range(4):
        size = size_of(pace, is_columnar)
        pace.observe(size, call + size * 1.0)
    assert size_of(pace, is_columnar) <= 2
