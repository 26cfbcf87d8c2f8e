"""DataGeneratorSource."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.connectors.rate_limiter import RateLimiterStrategy

reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def squares(index: int) -> int:
    return index * index


def square_batch(start: int, end: int) -> list[int]:
    return [index * index for index in range(start, end)]


def index_column(indices: range) -> pa.RecordBatch:
    return pa.record_batch({"i": pa.array(indices, pa.int64())})


def two_too_few(start: int, end: int) -> list[int]:
    return list(range(start, end - 2))


@reuse
@given(
    count=st.integers(0, 80),
    splits=st.integers(1, 9),
    step=st.integers(1, 30),
    restarts=st.lists(st.booleans()),
    batch=st.booleans(),
)
def test_bounded_gives_each_index_once_whatever_the_restarts(
    source_harness, *, count: int, splits: int, step: int, restarts: list[bool], batch: bool
) -> None:
    functions = {"batch": square_batch} if batch else {"generator_function": squares}
    source = DataGeneratorSource(count=count, splits=splits, **functions)
    assert source_harness(source).read_all(step, restarts) == [i * i for i in range(count)]


@pytest.mark.parametrize("batch", [False, True])
def test_unbounded_splits_deal_all_indices_between_them(source_harness, batch: bool) -> None:
    functions = {"batch": square_batch} if batch else {"generator_function": squares}
    harness = source_harness(DataGeneratorSource(splits=3, **functions))
    assert harness.source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    values: list[int] = []
    for split in harness.discover():
        reader = harness.reader(split)
        for step in (1, 4096, 5000, 3191):
            values += reader.read(step).values
            reader = harness.reader(split, reader.position())
        assert not reader.finished()
    assert sorted(values) == [i * i for i in range(len(values))]


@reuse
@given(count=st.integers(0, 80), splits=st.integers(1, 9), step=st.integers(1, 30))
def test_splits_of_columns_take_the_indices_in_turn(
    source_harness, *, count: int, splits: int, step: int
) -> None:
    source = DataGeneratorSource(columns=index_column, count=count, splits=splits)
    harness = source_harness(source)
    found: list[int] = []
    for number, split in enumerate(harness.discover()):
        reader, read = harness.reader(split), []
        while not reader.finished():
            read += reader.read(step).to_rows().values
            reader = harness.reader(split, reader.position())
        indices = [row["i"] for row in read]
        assert indices == list(range(number, count, min(splits, count)))
        found += indices
    assert sorted(found) == list(range(count))


def test_a_rate_is_kept_over_all_splits(source_harness, clock) -> None:
    strategy = RateLimiterStrategy.per_second(100)
    harness = source_harness(DataGeneratorSource(squares, None, strategy, splits=4), clock)
    readers = [harness.reader(split) for split in harness.discover()]
    counts = []
    for _ in range(5):
        clock.now += 100
        counts.append(sum(len(reader.read(1000).values) for reader in readers))
    assert counts == [11, 10, 10, 10, 10]


@reuse
@given(st.floats(0.1, 5000), st.integers(1, 5), st.lists(st.booleans(), max_size=60))
def test_the_next_wakeup_is_exactly_when_a_record_is_due(
    source_harness, rate: float, splits: int, restarts: list[bool]
) -> None:
    strategy = RateLimiterStrategy.per_second(rate)
    source = DataGeneratorSource(squares, 40, strategy, splits=splits, timestamped=True)
    harness = source_harness(source)
    split = harness.discover()[-1]
    reader = harness.reader(split)
    emitted = 0
    for restart in [*restarts, *[False] * 60]:
        if reader.finished():
            break
        due = reader.next_wakeup(harness.clock())
        harness.clock.now = due - 1
        assert reader.read(100).values == []
        harness.clock.now = due
        batch = reader.read(100)
        values, timestamps = batch.values, batch.timestamps
        emitted += len(values)
        assert values
        assert set(timestamps) == {due}
        if restart:
            reader = harness.reader(split, reader.position())
    assert reader.finished()
    assert reader.next_wakeup(0) is None
    assert emitted == split.count


def test_a_restart_keeps_the_schedule_and_catches_up(source_harness, clock) -> None:
    strategy = RateLimiterStrategy.per_second(10)
    source = DataGeneratorSource(squares, None, strategy, splits=1, timestamped=True)
    harness = source_harness(source, clock)
    [split] = harness.discover()
    reader = harness.reader(split)
    start = clock.now
    assert reader.read(100).timestamps == [start]
    position = reader.position()
    clock.now += 1000
    assert harness.reader(split, position).read(100).timestamps == [
        start + 100 * i for i in range(1, 11)
    ]


def test_without_a_rate_there_are_no_timestamps_and_no_wakeup(source_harness) -> None:
    harness = source_harness(DataGeneratorSource(squares, 5, splits=1))
    [split] = harness.discover()
    reader = harness.reader(split)
    assert reader.read(2).timestamps is None
    assert reader.next_wakeup(0) is None


def test_one_function_is_needed_and_one_only() -> None:
    with pytest.raises(JobDefinitionError, match="takes one of three"):
        DataGeneratorSource()
    with pytest.raises(JobDefinitionError, match="takes one of three"):
        DataGeneratorSource(squares, batch=square_batch)


def test_timestamps_need_a_rate() -> None:
    with pytest.raises(JobDefinitionError, match="needs a rate"):
        DataGeneratorSource(squares, timestamped=True)


def test_a_batch_of_the_wrong_length_is_an_error(source_harness) -> None:
    harness = source_harness(DataGeneratorSource(batch=two_too_few, count=10, splits=1))
    with pytest.raises(JobDefinitionError, match=r"returned 8 records for \(0, 10\)"):
        harness.read_all()
