"""The reader of delivered partitions, and how batches of a bounded DataFrame are offered."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from millrace.common.source import (
    AssignedSplit,
    BatchDelivery,
    Consumed,
    EnumeratorContext,
    Lane,
    ReaderContext,
)
from millrace.spark.connector.delivered_reader import DeliveredReader
from millrace.spark.connector.repeatable_dataframe import DataFrameEnumerator

SCHEMA = pa.schema([("n", pa.int64())])


def message(*numbers: int) -> memoryview:
    batch = pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], schema=SCHEMA)
    return memoryview(batch.serialize())


def opened(*lanes: int) -> tuple[DeliveredReader, ReaderContext]:
    context = ReaderContext(0, 1, lambda: 0)
    reader = DeliveredReader(SCHEMA, "row", context)
    reader.add_splits([AssignedSplit(Lane(f"lane-{lane}", lane)) for lane in lanes])
    return reader, context


def polled(reader: DeliveredReader) -> Iterator[tuple[str, list[int], bool, bool]]:
    while batches := reader.poll(1):
        for split_id, batch, finished, _, at_end in batches:
            yield split_id, [row.n for row in batch.to_rows().values], finished, at_end


def test_all_of_a_batch() -> None:
    """However many records were asked for; the answer tells how many there were."""
    reader, context = opened(0, 2)
    context.delivered = {0: [message(1, 2), message(3)], 2: [message(4)]}
    reader.handle_source_event(BatchDelivery("feed", 5, (0, 1, 2)))
    found = [("lane-0", [1, 2]), ("lane-0", [3]), ("lane-2", [4])]
    assert [each[:2] for each in polled(reader)] == found
    assert not context.delivered
    assert reader.snapshot_state() == {"lane-0": 5, "lane-2": 5}
    assert context.events == [Consumed("feed", 5, 4)]
    assert list(polled(reader)) == []
    assert reader.snapshot_state() == {"lane-0": 5, "lane-2": 5}
    assert len(context.events) == 1


def test_the_last_batch() -> None:
    reader, context = opened(0, 1)
    context.delivered = {0: [message(1)]}
    reader.handle_source_event(BatchDelivery("feed", 0, (0,), last=True))
    assert list(polled(reader)) == [
        ("lane-0", [1], False, False),
        ("lane-0", [], True, False),
        ("lane-1", [], True, False),
    ]
    assert reader.snapshot_state() == {}


def test_the_end_of_a_run() -> None:
    reader, _ = opened(0)
    reader.handle_source_event(BatchDelivery("feed", 1, at_end=True))
    assert list(polled(reader)) == [("lane-0", [], False, True)]
    assert reader.snapshot_state() == {"lane-0": 1}


@pytest.fixture
def enumerator(monkeypatch: pytest.MonkeyPatch) -> DataFrameEnumerator:
    """Enumerator of a DataFrame with 20 partitions."""
    from millrace.spark import feeds

    monkeypatch.setattr(feeds, "partitions_of", lambda dataframe: ("rdd", 20))
    made = DataFrameEnumerator(None)
    made.start(EnumeratorContext(2))
    return made


def answered(enumerator: DataFrameEnumerator, records: int) -> BatchDelivery:
    """Let both subtasks read what is offered."""
    context = enumerator._context
    ((_, event), (_, other)) = context.events
    assert isinstance(event, BatchDelivery)
    assert event == other
    context.events.clear()
    enumerator._feed.delivered = event.batch
    for subtask in range(2):
        enumerator.handle_source_event(subtask, Consumed(event.feed, event.batch, records))
    return event


def test_batches_grow_as_they_may(enumerator: DataFrameEnumerator) -> None:
    """One partition per subtask, then more if they are small; nothing before the answer."""
    assert [lane.number for lane in enumerator.discover(0)] == [0, 1]
    assert enumerator.discover(0) == ()
    assert answered(enumerator, 1).partitions == (0, 1)
    assert enumerator.discover(0) == []
    assert answered(enumerator, 1_000_000).partitions == tuple(range(2, 10))
    assert not enumerator.no_more_splits()
    enumerator.discover(0)
    assert answered(enumerator, 1).partitions == (10, 11)
    enumerator.discover(0)
    last = answered(enumerator, 1)
    assert last == BatchDelivery(last.feed, 12, tuple(range(12, 20)), last=True)
    assert enumerator.no_more_splits()


def test_what_was_offered_and_not_read_is_offered_again(enumerator: DataFrameEnumerator) -> None:
    enumerator.discover(0)
    answered(enumerator, 10)
    enumerator.discover(0)
    state = enumerator.snapshot_state()
    again = DataFrameEnumerator(None)
    again.restore_state(state)
    again.start(EnumeratorContext(2))
    assert again.discover(0) == []
    ((_, event), _) = again._context.events
    assert isinstance(event, BatchDelivery)
    assert event.partitions[0] == 2


def test_other_partitions_than_before(
    enumerator: DataFrameEnumerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    enumerator.restore_state({"lanes": 2, "partitions": 21, "next": 4})
    with pytest.raises(Exception, match="now has 20 partitions; it had 21"):
        enumerator.discover(0)
