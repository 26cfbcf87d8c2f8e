"""The reader of queues against a model of a queue: readers and checkpoints that come and go."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.error_policy import ErrorPolicy
from millrace.common.source import AssignedSplit, ReaderContext, SourceSplit
from millrace.common.types.batch import RowBatch
from millrace.connectors.errors import ConnectorError
from millrace.connectors.message_queue.acknowledging_reader import (
    ACKNOWLEDGED_MS,
    RESTORED_MS,
    AcknowledgingReader,
    ProcessedIds,
    QueueReading,
)
from millrace.connectors.message_queue.queue_client import Delivery, QueueClient
from millrace.connectors.wake_ups import SAFETY_MS

SPLIT = "consumer-0"


class Queue:
    """Keeps messages until they are acknowledged; gives those of a lost consumer to the next."""

    def __init__(self, count: int) -> None:
        self.ready = [str(number) for number in range(count)]
        self.acknowledged: list[str] = []

    def connect(self, split_id: str) -> Consumer:
        return Consumer(self)


class Consumer(QueueClient):
    def __init__(self, queue: Queue) -> None:
        super().__init__()
        self.queue = queue
        self.held: list[str] = []

    def take(self, count: int) -> list[Delivery]:
        found, self.queue.ready = self.queue.ready[:count], self.queue.ready[count:]
        first = len(self.held)
        self.held += found
        return [Delivery(first + i, m, m.encode(), None) for i, m in enumerate(found)]

    def acknowledge(self, tags: Sequence[Any]) -> None:
        for tag in tags:
            self.queue.acknowledged.append(self.held[tag])
            self.held[tag] = ""

    def close(self) -> None:
        self.queue.ready = [m for m in self.held if m] + self.queue.ready
        self.held = []


def deserialize(deliveries: Sequence[Delivery]) -> RowBatch[int]:
    return RowBatch([int(delivery.body) for delivery in deliveries])


class Job:
    """Epochs, checkpoints and failures, as the engine makes them."""

    def __init__(self, queue: Queue, by_id: bool = True, policy: ErrorPolicy | None = None) -> None:
        policy = policy or ErrorPolicy.fail()
        self.reading = QueueReading(
            "the queue", queue.connect, deserialize, by_id, "has no id", policy, ConnectorError
        )
        self.position: Any = None
        self.processed: list[int] = []
        self.durable: tuple[Any, list[int]] = (None, [])
        self.start()

    def start(self) -> None:
        """A new reader, at the position that counts."""
        self.reader = AcknowledgingReader(self.reading, ReaderContext(0, 1, lambda: 0))
        self.reader.add_splits([AssignedSplit(SourceSplit(SPLIT), self.position)])

    def epoch(self, count: int, fails: bool = False) -> None:
        found = [
            value for records in self.reader.poll(count) for value in records.batch.to_rows().values
        ]
        if fails:
            self.reader.close()
            self.start()
            return
        self.position = self.reader.snapshot_state()[SPLIT]
        self.processed += found

    def checkpoint(self, told: bool) -> None:
        self.durable = (self.position, list(self.processed))
        if told:
            self.reader.notify_checkpoint_complete(1)

    def crash(self) -> None:
        """The driver dies, and goes on from the last checkpoint."""
        self.reader.close()
        self.position, processed = self.durable
        self.processed = list(processed)
        self.start()


class Pushed(QueueClient):
    """Client to which a test delivers messages, as a client's thread does."""

    def acknowledge(self, tags: Sequence[Any]) -> None:
        raise AssertionError("no checkpoint is complete")

    def close(self) -> None:
        self.arrived.clear()


def test_messages_and_failures_wake_the_loop() -> None:
    client, calls = Pushed(), []
    reading = QueueReading(
        "it", lambda _: client, deserialize, True, "no id", ErrorPolicy.fail(), ConnectorError
    )
    context = ReaderContext(0, 1, lambda: 0, wake_up=lambda: calls.append("woken"))
    reader = AcknowledgingReader(reading, context)
    reader.add_splits([AssignedSplit(SourceSplit(SPLIT), None)])
    assert reader.poll(10) == []
    assert reader.next_wakeup(5) == 5 + SAFETY_MS
    client.deliver(Delivery(1, "id", b"7", None))
    assert calls == ["woken"]
    assert [value for r in reader.poll(10) for value in r.batch.to_rows().values] == [7]
    assert reader.next_wakeup(5) == 5  # more may have come
    client.fail(ConnectorError("away"))
    assert calls == ["woken", "woken"]
    with pytest.raises(ConnectorError, match="away"):
        reader.poll(10)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["epoch", "failed epoch", "checkpoint", "untold checkpoint", "crash"]),
        st.integers(0, 5),
    )
)


@given(STEPS)
def test_with_ids_each_message_is_processed_once(steps: list[tuple[str, int]]) -> None:
    queue = Queue(30)
    job = Job(queue)
    run(job, steps)
    assert sorted(job.processed) == list(range(30))
    assert sorted(map(int, queue.acknowledged)) == list(range(30))


@given(STEPS)
def test_without_ids_no_message_is_lost(steps: list[tuple[str, int]]) -> None:
    queue = Queue(30)
    job = Job(queue, by_id=False)
    run(job, steps)
    assert set(job.processed) == set(range(30))


def run(job: Job, steps: list[tuple[str, int]]) -> None:
    """The steps, and then all that is left."""
    for step, count in steps:
        if step.endswith("epoch"):
            job.epoch(count, step.startswith("failed"))
        elif step.endswith("checkpoint"):
            job.checkpoint(step == "checkpoint")
        else:
            job.crash()
    job.epoch(100)
    job.checkpoint(True)


def test_nothing_is_acknowledged_before_its_checkpoint() -> None:
    queue = Queue(3)
    job = Job(queue)
    job.epoch(2)
    assert queue.acknowledged == []
    job.checkpoint(True)
    assert queue.acknowledged == ["0", "1"]


def test_what_cannot_be_read_is_passed_over_and_acknowledged() -> None:
    queue = Queue(0)
    queue.ready = ["1", "broken", "2"]
    job = Job(queue, policy=ErrorPolicy.skip())
    job.epoch(3)
    job.checkpoint(True)
    assert job.processed == [1, 2]
    assert queue.acknowledged == ["1", "broken", "2"]
    queue.ready = ["worse"]
    with pytest.raises(ConnectorError, match="a message of the queue cannot be read: .*worse"):
        Job(queue).epoch(1)


def test_a_failure_that_is_of_no_message_is_no_reason_to_pass_over_one() -> None:
    """A schema registry that is away must not have messages skipped, and acknowledged."""
    queue = Queue(3)
    job = Job(queue, policy=ErrorPolicy.skip())

    def unanswered(deliveries: Sequence[Delivery]) -> RowBatch[int]:
        raise ConnectorError("the schema registry does not answer")

    job.reading.deserialize = unanswered
    with pytest.raises(ConnectorError, match="^the schema registry does not answer$"):
        job.epoch(3)


def test_paused_consumers_give_nothing() -> None:
    job = Job(Queue(3))
    job.reader.pause_or_resume_splits([SPLIT], [])
    assert job.reader.poll(10) == []
    job.reader.pause_or_resume_splits([], [SPLIT])
    job.epoch(10)
    assert job.processed == [0, 1, 2]


def test_ids_of_acknowledged_messages_are_forgotten_after_a_while() -> None:
    ids = ProcessedIds(None, 0)
    assert ids.add("a")
    ids.acknowledged(0)
    assert not ids.add("a"), "the server may not know yet"
    ids.acknowledged(10)
    ids.acknowledged(10 + ACKNOWLEDGED_MS)
    assert ids.snapshot() == ((), ())
    assert ids.add("a")


def test_restored_ids_are_kept_for_long() -> None:
    """As a worker that is gone may still hold their messages."""
    ids = ProcessedIds(None, 0)
    ids.add("a")
    ids.add("b")
    restored = ProcessedIds(ids.snapshot(), 1_000)
    restored.acknowledged(1_000 + RESTORED_MS - 1)
    assert not restored.add("a")
    restored.acknowledged(1_000 + RESTORED_MS)
    assert restored.add("b")


@given(st.lists(st.one_of(st.sampled_from("abcdef"), st.sampled_from(["ack", "restore"]))))
def test_nothing_is_processed_twice_within_the_time(events: list[str]) -> None:
    """Whatever is acknowledged and restored meanwhile."""
    ids, seen = ProcessedIds(None, 0), set()
    for event in events:
        if event == "ack":
            ids.acknowledged(1)
        elif event == "restore":
            ids = ProcessedIds(pickle.loads(pickle.dumps(ids.snapshot())), 1)
        else:
            assert ids.add(event) == (event not in seen)
            seen.add(event)
