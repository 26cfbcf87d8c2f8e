"""The Pulsar source against a real broker."""

from __future__ import annotations

import pickle
import random
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from kafka_topics import WallClock

from millrace.common import ErrorPolicy, OutputTag, SimpleStringSchema, WatermarkStrategy
from millrace.common.source import AssignedSplit, EnumeratorContext, ReaderContext
from millrace.connectors.pulsar import (
    PulsarDeserializationSchema,
    PulsarError,
    PulsarRecord,
    PulsarSource,
    StartCursor,
    StopCursor,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

pytestmark = pytest.mark.connectors


def builder(topic: Any, schema: Any = None) -> Any:
    return (
        PulsarSource.builder()
        .set_service_url(topic.server.url)
        .set_admin_url(topic.server.admin_url)
        .set_topics(topic.name)
        .set_subscription_name("tests")
        .set_deserialization_schema(schema or SimpleStringSchema())
        .set_config("pulsar.source.partitionDiscoveryIntervalMs", 50)
    )


def texts(count: int, first: int = 0) -> list[str]:
    return [f"message-{number:05}" for number in range(first, first + count)]


def read(source: Any, count: int | None = None, **local: Any) -> list[Any]:
    """So many records by a job; None: all of a bounded source."""
    with run_local(clock=WallClock(), **local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "pulsar")
        with stream.execute_and_collect() as records:
            return list(islice(records, count))


def test_all_partitions_are_read(topics: Any) -> None:
    topic = topics.create(3)
    for partition in range(3):
        topic.send(texts(100, 100 * partition), partition)
    assert sorted(read(builder(topic).build(), 300, epoch_records=30)) == texts(300)


def test_failures_lose_and_double_nothing(topics: Any) -> None:
    topic = topics.create(2)
    for partition in range(2):
        topic.send(texts(200, 200 * partition), partition)
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.2)
    source = builder(topic).set_bounded_stop_cursor(StopCursor.latest()).build()
    found = read(source, epoch_records=20, faults=faults)
    assert sorted(found) == texts(400)
    for partition in range(2):
        mine = set(texts(200, 200 * partition))
        assert [value for value in found if value in mine] == sorted(mine)


class TestPositions:
    """Enumerator and reader without an engine."""

    @staticmethod
    def start(source: Any, state: Any = None) -> tuple[Any, list[Any]]:
        enumerator = pickle.loads(pickle.dumps(source)).create_enumerator()
        if state is not None:
            enumerator.restore_state(pickle.loads(pickle.dumps(state)))
        enumerator.start(EnumeratorContext(1))
        return enumerator, list(enumerator.discover(0))

    @staticmethod
    def reader(source: Any, splits: list[Any], positions: Any = None) -> Any:
        context = ReaderContext(0, 1, lambda: time.time_ns() // 1_000_000)
        reader = source.create_reader(context)
        positions = positions or {}
        reader.add_splits([AssignedSplit(s, positions.get(s.split_id)) for s in splits])
        return reader

    @staticmethod
    def take(reader: Any, count: int, step: int = 7) -> list[str]:
        found: list[str] = []
        until = time.monotonic() + 20
        while len(found) < count:
            assert time.monotonic() < until, found
            for records in reader.poll(min(step, count - len(found))):
                found += records.batch.values
        return found

    def test_a_reader_goes_on_where_another_was(self, topics: Any) -> None:
        """Also amid messages that were sent together."""
        topic = topics.create()
        topic.send(texts(60))
        topic.send(texts(30, 60))
        source = builder(topic).build()
        enumerator, splits = self.start(source)
        found: list[str] = []
        positions: Any = None
        rng = random.Random(3)
        while len(found) < 90:
            reader = self.reader(source, splits, positions)
            found += self.take(reader, min(rng.randint(1, 20), 90 - len(found)))
            positions = pickle.loads(pickle.dumps(reader.snapshot_state()))
            reader.close()
        enumerator.close()
        assert found == texts(90)

    def test_latest_begins_when_the_job_did(self, topics: Any) -> None:
        """Also when it fails before it has read anything; later partitions are read whole."""
        topic = topics.create(1)
        topic.send(texts(20))
        source = builder(topic).set_start_cursor(StartCursor.latest()).build()
        enumerator, splits = self.start(source)
        topic.send(texts(20, 20))
        reader = self.reader(source, splits)
        assert self.take(reader, 20) == texts(20, 20)
        reader.close()
        path = f"persistent/public/default/{topic.name}/partitions"
        topic.server.ask("POST", path, 2)
        topic.send(texts(20, 40), 1)
        state = enumerator.snapshot_state()
        enumerator.close()
        enumerator, later = self.start(source, state)
        assert [split.split_id for split in later] == [f"{topic.full_name}-partition-1"]
        reader = self.reader(source, later)
        assert self.take(reader, 20) == texts(20, 40)
        reader.close()
        enumerator.close()

    def test_latest_of_an_empty_topic(self, topics: Any) -> None:
        topic = topics.create()
        source = builder(topic).set_start_cursor(StartCursor.latest()).build()
        enumerator, splits = self.start(source)
        topic.send(texts(5))
        reader = self.reader(source, splits)
        assert self.take(reader, 5) == texts(5)
        reader.close()
        enumerator.close()

    def test_the_subscription_follows_the_checkpoints(self, topics: Any) -> None:
        """Behind them nothing need be kept; what was sent together goes together."""
        topic = topics.create()
        for number in range(10):
            topic.send(texts(1, number))
        source = builder(topic).build()
        enumerator, splits = self.start(source)
        reader = self.reader(source, splits)
        self.take(reader, 4)
        reader.notify_checkpoint_complete(1)
        [event] = reader._context.events
        enumerator.handle_source_event(0, event)
        path = f"persistent/public/default/{topic.name}/stats?getPreciseBacklog=true"
        until = time.monotonic() + 20
        while True:
            stats = topic.server.ask("GET", path)["subscriptions"]["tests"]
            if stats["msgBacklog"] in (6, 7):  # a batch of one counts as not complete
                break
            assert time.monotonic() < until, stats
            time.sleep(0.1)
        reader.close()
        enumerator.close()


class TestBeginAndEnd:
    def bounded(self, topic: Any, stop: StopCursor, start: Any = None) -> list[str]:
        made = builder(topic).set_bounded_stop_cursor(stop)
        return read(made.set_start_cursor(start or StartCursor.earliest()).build())

    def test_message_ids(self, topics: Any) -> None:
        topic = topics.create()
        ids = topic.send(texts(20))
        fifth = StartCursor.from_message_id(ids[5])
        assert self.bounded(topic, StopCursor.latest(), fifth) == texts(15, 5)
        behind = StartCursor.from_message_id(ids[5].serialize(), inclusive=False)
        assert self.bounded(topic, StopCursor.latest(), behind) == texts(14, 6)
        assert self.bounded(topic, StopCursor.at_message_id(ids[10])) == texts(10)
        assert self.bounded(topic, StopCursor.after_message_id(ids[10])) == texts(11)

    def test_publish_times(self, topics: Any) -> None:
        topic = topics.create()
        topic.send(texts(5))
        time.sleep(0.05)
        middle = time.time_ns() // 1_000_000
        time.sleep(0.05)
        topic.send(texts(5, 5))
        start = StartCursor.from_publish_time(middle)
        assert self.bounded(topic, StopCursor.latest(), start) == texts(5, 5)
        assert self.bounded(topic, StopCursor.at_publish_time(middle)) == texts(5)

    def test_event_times(self, topics: Any) -> None:
        topic = topics.create()
        for number in range(5):
            topic.send(texts(1, number), event_timestamp=1_000 + number)
        assert self.bounded(topic, StopCursor.at_event_time(1_003)) == texts(3)
        assert self.bounded(topic, StopCursor.after_event_time(1_003)) == texts(4)

    def test_nothing_is_there(self, topics: Any) -> None:
        assert self.bounded(topics.create(2), StopCursor.latest()) == []


def test_a_pattern_means_later_topics_too(topics: Any) -> None:
    first = topics.create(2, "pattern")
    prefix = first.name[:12]
    first.send(texts(10), 1)
    made = (
        PulsarSource.builder()
        .set_service_url(first.server.url)
        .set_admin_url(first.server.admin_url)
        .set_topic_pattern(f"persistent://public/default/{prefix}.*")
        .set_subscription_name("tests")
        .set_deserialization_schema(SimpleStringSchema())
        .set_config("pulsar.source.partitionDiscoveryIntervalMs", 50)
    )
    enumerator, splits = TestPositions.start(made.build())
    assert len(splits) == 2
    second = topics.create(0, prefix)
    found: list[Any] = []
    until = time.monotonic() + 20
    now = 1_000
    while not found:
        assert time.monotonic() < until
        found = list(enumerator.discover(now))
        now += 1_000
        time.sleep(0.02)
    assert [split.split_id for split in found] == [second.full_name]
    enumerator.close()


def test_runs_of_what_is_there(topics: Any, tmp_path: Path) -> None:
    """Each takes what came since the one before."""
    topic = topics.create(2)
    source = builder(topic).build()
    enumerator = source.create_enumerator()
    state: Any = None
    positions: dict[str, Any] = {}
    splits: list[Any] = []
    for run in range(3):
        topic.send(texts(10, 10 * run), run % 2)
        enumerator = source.create_enumerator()
        if state is not None:
            enumerator.restore_state(state)
        enumerator.start(EnumeratorContext(1))
        enumerator.prepare_for_available_now(0)
        splits += enumerator.discover(0)
        assert enumerator.no_more_splits()
        ends = [(s, enumerator.available_now_end(s)) for s in splits]
        reader = source.create_reader(ReaderContext(0, 1, lambda: 0))
        reader.add_splits([AssignedSplit(s, positions.get(s.split_id), e) for s, e in ends])
        found, ended = [], 0
        until = time.monotonic() + 20
        while ended < 2:
            assert time.monotonic() < until
            for records in reader.poll(7):
                found += records.batch.values
                ended += records.at_end
        assert found == texts(10, 10 * run)
        positions = reader.snapshot_state()
        state = enumerator.snapshot_state()
        reader.close()
        enumerator.close()


class Whole(PulsarDeserializationSchema[Any]):
    def deserialize(self, record: PulsarRecord) -> Any:
        data = None if record.data is None else record.data.decode()
        return record.key, dict(record.properties), record.event_time, data


def test_whole_messages(topics: Any) -> None:
    topic = topics.create()
    topic.send(["a"], partition_key="k", properties={"p": "1"}, event_timestamp=77)
    topic.send(["b"])
    stop = StopCursor.latest()
    found = read(builder(topic, Whole()).set_bounded_stop_cursor(stop).build())
    assert found == [("k", {"p": "1"}, 77, "a"), ("", {}, 0, "b")]


class TestBadMessages:
    def test_they_fail_the_job(self, topics: Any) -> None:
        topic = topics.create()
        topic.send([b"\xff"])
        with pytest.raises(Exception, match=r"the message \(.*cannot be read") as failed:
            read(builder(topic).build(), 1)
        assert "set_error_policy" in str(failed.value)

    def test_they_become_dead_letters(self, topics: Any) -> None:
        topic = topics.create()
        topic.send(["1", b"\xff", "2"])
        bad: OutputTag[Any] = OutputTag("bad")
        source = builder(topic).set_error_policy(ErrorPolicy.side_output(bad)).build()
        with run_local(clock=WallClock()):
            env = StreamExecutionEnvironment.get_execution_environment()
            good = env.from_source(source, WatermarkStrategy.no_watermarks(), "pulsar")
            letters = good.get_side_output(bad).map(lambda letter: letter.raw)
            with good.union(letters).execute_and_collect() as records:
                assert set(islice(records, 3)) == {"1", "2", b"\xff"}


def test_a_topic_that_is_not_there(topics: Any) -> None:
    topic = topics.create()
    topic.name = "nowhere"
    with pytest.raises(PulsarError, match="cannot .* 'persistent://public/default/nowhere': there"):
        read(builder(topic).build(), 1)
