"""The reader of a subtask, called as the source operator calls it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from millrace.common import SimpleStringSchema
from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.common.source import AssignedSplit, ReaderContext
from millrace.connectors.kafka import KafkaError, KafkaSource
from millrace.connectors.kafka.client import create_consumer
from millrace.connectors.kafka.partition_split import KafkaPartitionSplit
from millrace.connectors.kafka.partition_watch import NewRecords
from millrace.connectors.kafka.reader import KafkaSourceReader

Make = Callable[..., KafkaSourceReader]


@pytest.fixture
def reader(topics: Any) -> Any:
    made = []

    def make(
        topic: str,
        position: int | None = None,
        starting_offset: int = 0,
        wake_up: Callable[[], None] | None = None,
        metrics: MetricGroup | None = None,
        **properties: str,
    ) -> KafkaSourceReader:
        builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
        builder.set_topics(topic).set_value_only_deserializer(SimpleStringSchema())
        for name, value in properties.items():
            builder.set_property(name.replace("_", "."), value)
        shown = UnregisteredMetricGroup() if metrics is None else metrics
        context = ReaderContext(0, 1, lambda: 0, metrics=shown, wake_up=wake_up)
        opened = builder.build().create_reader(context)
        made.append(opened)
        split = KafkaPartitionSplit(f"{topic}-0", topic, 0, starting_offset)
        opened.add_splits([AssignedSplit(split, position)])
        return opened

    yield make
    for opened in made:
        opened.close()


class Gauges(UnregisteredMetricGroup):
    """Gauges of all groups, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.gauges: dict[str, list[Callable[[], int]]] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        return self

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self.gauges.setdefault(name, []).append(obj)


def take(reader: KafkaSourceReader, count: int) -> list[str]:
    """As many records as that, however many polls it takes."""
    found: list[str] = []
    until = time.monotonic() + 180
    while len(found) < count:
        assert time.monotonic() < until, found
        for batch in reader.poll(count - len(found)):
            found += batch.batch.to_rows().values
    return found


def test_positions_are_behind_what_was_polled(topics: Any, reader: Make) -> None:
    topic = topics.create()
    topics.send(topic, [str(i) for i in range(100)])
    first = reader(topic)
    assert first.snapshot_state() == {f"{topic}-0": 0}
    assert take(first, 30) == [str(i) for i in range(30)]
    assert first.snapshot_state() == {f"{topic}-0": 30}
    assert take(reader(topic, 30), 70) == [str(i) for i in range(30, 100)]


def test_who_has_read_is_asked_again_at_once(topics: Any, reader: Make) -> None:
    topic = topics.create()
    opened = reader(topic)
    opened.begin_epoch(10)
    assert opened.poll(10) == []
    assert opened.next_wakeup(5) is None, "the poll interval"
    topics.send(topic, ["a"])
    assert take(opened, 1) == ["a"]
    assert opened.next_wakeup(5) == 5
    opened.begin_epoch(10)
    assert opened.poll(10) == []
    assert opened.next_wakeup(5) is None


def test_an_idle_reader_waits_to_be_told(topics: Any, reader: Make) -> None:
    opened = reader(topics.create())
    until = time.monotonic() + 180
    while opened.next_wakeup(5) is None:
        assert time.monotonic() < until
        opened.begin_epoch(10)
        assert opened.poll(10) == []
    assert opened.next_wakeup(5) == 10_005
    opened.handle_source_event(NewRecords())
    assert opened.next_wakeup(5) is None


def test_an_idle_reader_wakes_the_loop(topics: Any, reader: Make) -> None:
    """Messages that arrive while the reader rests come in order, and none is lost."""
    woken = threading.Event()
    topic = topics.create()
    opened = reader(topic, wake_up=woken.set)
    found: list[str] = []
    until = time.monotonic() + 180
    for number in range(3):
        while opened.next_wakeup(5) != 10_005:  # after some empty rounds, a thread waits
            assert time.monotonic() < until
            opened.begin_epoch(10)
            found += [v for batch in opened.poll(10) for v in batch.batch.to_rows().values]
        topics.send(topic, [f"{number}a", f"{number}b"])
        while len(found) < 2 * number + 2:
            assert woken.wait(180)
            woken.clear()
            opened.begin_epoch(10)
            while batches := opened.poll(10):
                found += [v for batch in batches for v in batch.batch.to_rows().values]
            opened.next_wakeup(5)
            if len(found) < 2 * number + 2:  # it was woken by the end of the partition
                woken.set()
    assert found == ["0a", "0b", "1a", "1b", "2a", "2b"]
    assert opened.snapshot_state() == {f"{topic}-0": 6}


class HeldConsumer:
    """A consumer whose waits in threads other than the test's end when the test says so, and which
    notes the calls that are made meanwhile."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._loop = threading.current_thread()
        self.waits = threading.Event()
        self.may_end = threading.Event()
        self.meanwhile: list[str] = []
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is self._loop:
                if self.waits.is_set() and not self.may_end.is_set():
                    self.meanwhile.append(name)
            elif name == "consume":
                self.waits.set()
                assert self.may_end.wait(180)
            self.calls.append(name)
            return getattr(self._consumer, name)(*arguments, **named)

        return call


def test_nothing_is_asked_of_a_consumer_in_which_a_thread_waits(
    topics: Any, reader: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a call would spin until it hits the moment between two waits, which may be never."""
    made: list[HeldConsumer] = []

    def create(config: Any) -> HeldConsumer:
        made.append(HeldConsumer(create_consumer(config)))
        return made[0]

    monkeypatch.setattr("millrace.connectors.kafka.reader.create_consumer", create)
    topic, other = topics.create(), topics.create()
    topics.send(topic, ["a"])
    metrics = Gauges()
    woken = threading.Event()
    opened = reader(topic, wake_up=woken.set, metrics=metrics, group_id=topic)
    assert take(opened, 1) == ["a"]
    consumer = made[0]
    until = time.monotonic() + 180
    while not consumer.waits.is_set():
        assert time.monotonic() < until
        opened.begin_epoch(10)
        assert opened.poll(10) == []
        if opened.next_wakeup(5) is not None:
            assert consumer.waits.wait(180)
    assert [read() for read in metrics.gauges["pendingRecords"]] == [0]
    opened.notify_checkpoint_complete(1)
    opened.pause_or_resume_splits([f"{topic}-0"], [])
    opened.pause_or_resume_splits([], [f"{topic}-0"])
    split = KafkaPartitionSplit(f"{other}-0", other, 0, 0)
    opened.add_splits([AssignedSplit(split, None)])
    assert opened.remove_splits([f"{other}-0"]) == {f"{other}-0": 0}
    assert consumer.meanwhile == []
    before = len(consumer.calls)
    consumer.may_end.set()
    topics.send(topic, ["b"])
    assert take(opened, 1) == ["b"]
    asked = [name for name in consumer.calls[before:] if name != "consume"]
    assert asked[:5] == ["commit", "pause", "resume", "incremental_assign", "incremental_unassign"]


def test_an_offset_that_is_not_there_any_more(topics: Any, reader: Make) -> None:
    """Without a strategy to go on elsewhere the job fails, and says of which partition."""
    topic = topics.create()
    topics.send(topic, ["a"])
    opened = reader(topic, starting_offset=1_000, auto_offset_reset="error")
    with pytest.raises(KafkaError, match=f"cannot read {topic}-0 from Kafka: .*out of range"):
        take(opened, 1)
    opened = reader(topic, 1_000, auto_offset_reset="error")
    with pytest.raises(KafkaError, match=f"cannot read {topic}-0 .* now ends at 1"):
        take(opened, 1)
    opened = reader(topic, 1_000, auto_offset_reset="earliest")
    assert take(opened, 1) == ["a"], "as the user says"


def epoch(reader: KafkaSourceReader) -> int:
    """How many records are read until a poll gives none."""
    reader.begin_epoch(1_000_000)
    read = 0
    while batches := reader.poll(10_000):
        read += sum(len(batch.batch) for batch in batches)
    return read


def test_an_epoch_waits_for_a_backlog_that_is_on_its_way(
    topics: Any, reader: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fetch brings 50 records at most; it was the end of the epoch each time."""
    monkeypatch.setattr("millrace.connectors.kafka.reader._FETCH_PATIENCE_S", 10.0)
    topic = topics.create()
    for _ in range(60):
        topics.send(topic, ["x" * 100] * 50)
    opened = reader(topic, fetch_message_max_bytes="1000", queued_min_messages="50")
    read, epochs = len(take(opened, 1)), 0
    while read < 2_000:
        read += epoch(opened)
        epochs += 1
    assert epochs <= 10, "2000 records are 40 fetches"


def test_nobody_waits_where_there_is_no_backlog(
    topics: Any, reader: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.connectors.kafka.reader._FETCH_PATIENCE_S", 30.0)
    topic = topics.create()
    topics.send(topic, ["a"])
    opened = reader(topic)
    take(opened, 1)
    start = time.monotonic()
    for _ in range(20):
        assert epoch(opened) == 0
    assert time.monotonic() - start < 30.0


@pytest.mark.parametrize("values", [[], ["a"]], ids=["none", "fewer"])
def test_a_partition_that_goes_back_is_an_error(topics: Any, reader: Make, values: Any) -> None:
    topic = topics.create()
    topics.send(topic, values)
    opened = reader(topic, 2)
    with pytest.raises(KafkaError, match=r"read up to offset 2, .* deleted and created again"):
        take(opened, 1)


def test_a_start_behind_the_end_begins_where_the_user_said(topics: Any, reader: Make) -> None:
    topic = topics.create()
    topics.send(topic, ["a", "b"])
    assert take(reader(topic, starting_offset=7), 2) == ["a", "b"]


@pytest.mark.parametrize("more", [[], ["d", "e"]], ids=["nothing", "records"])
def test_a_position_that_retention_has_passed(
    topics: Any, reader: Make, more: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The client would go on elsewhere without a word; a job must not skip records so."""
    topic = topics.create()
    topics.send(topic, ["a", "b", "c", *more])
    topics.delete_before(topic, 3)
    told = f"{topic}-0 of Kafka up to offset 1.* the 2 offsets before 3, .* 'auto.offset.reset'"
    with pytest.raises(KafkaError, match=told):
        take(reader(topic, 1), 1)
    topics.send(topic, ["f"])
    opened = reader(topic, 1, auto_offset_reset="earliest")
    assert take(opened, len(more) + 1) == [*more, "f"]
    [warning] = [r.getMessage() for r in caplog.records if "retention" in r.getMessage()]
    assert "the 2 offsets before 3" in warning
    assert "it continues at 3, as 'auto.offset.reset' says" in warning


def test_retention_passes_a_reader_that_is_slow(
    topics: Any, reader: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Its position was there when it began."""
    topic = topics.create()
    for _ in range(50):  # a fetch brings a batch at least
        topics.send(topic, ["x" * 100] * 20)
    # it fetches hardly more than it is asked for
    little = {"fetch_message_max_bytes": "500", "queued_min_messages": "1"}
    opened = reader(topic, **little)
    other = reader(topic, auto_offset_reset="earliest", **little)
    for each in (opened, other):
        take(each, 1)
    topics.delete_before(topic, 1_000)
    topics.send(topic, ["after"])
    told = f"has read {topic}-0 of Kafka up to offset ([0-9]+), .* the ([0-9]+) offsets before 1000"
    with pytest.raises(KafkaError, match=told) as failed:
        take(opened, 1_000)
    read, gone = map(int, re.search(told, str(failed.value)).groups())
    assert opened.snapshot_state() == {f"{topic}-0": read}
    assert read + gone == 1_000
    assert gone > 0
    values = take(other, 0)
    while "after" not in values:
        values += take(other, 1)
    assert other.snapshot_state() == {f"{topic}-0": 1_001}
    [warning] = [r.getMessage() for r in caplog.records if "retention" in r.getMessage()]
    assert f"the {1_000 - len(values)} offsets before 1000" in warning


def test_a_reader_that_waits_at_the_end_does_not_skip_what_it_did_not_see(
    topics: Any, reader: Make
) -> None:
    topic = topics.create()
    topics.send(topic, ["a"])
    opened = reader(topic, starting_offset=1)
    while not next(iter(opened._open.values())).has_been:
        assert opened.poll(10) == []
    opened.pause_or_resume_splits([f"{topic}-0"], [])
    topics.send(topic, ["b", "c"])
    topics.delete_before(topic, 3)
    opened.pause_or_resume_splits([], [f"{topic}-0"])
    with pytest.raises(KafkaError, match="the 2 offsets before 3"):
        take(opened, 1)


def test_what_retention_has_deleted_before_the_position_is_of_no_account(
    topics: Any, reader: Make
) -> None:
    topic = topics.create()
    topics.send(topic, ["a", "b", "c"])
    topics.delete_before(topic, 2)
    assert take(reader(topic, 2), 1) == ["c"]
    assert take(reader(topic, starting_offset=1), 1) == ["c"], "the job has not been there yet"


def test_offsets_without_records_are_not_taken_for_deleted_ones(topics: Any, reader: Make) -> None:
    """Marks of transactions, too, have offsets."""
    topic = topics.create()
    for value in ("a", "b"):
        topics.send_in_transaction(topic, [value])
    assert take(reader(topic, 1), 1) == ["b"], "offset 1 is the mark behind the first"
