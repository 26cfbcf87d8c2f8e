"""The Kinesis source against an emulator that ends shards as Amazon's service does."""

from __future__ import annotations

import hashlib
import pickle
import random
import threading
import time
import uuid
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from kafka_topics import WallClock
from kinesalite import Kinesalite

from millrace.common import ErrorPolicy, OutputTag, SimpleStringSchema, WatermarkStrategy
from millrace.common.source import AssignedSplit, EnumeratorContext, ReaderContext
from millrace.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisError,
    KinesisRecord,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

pytestmark = pytest.mark.connectors

QUICK = {
    "flink.stream.initpos": "TRIM_HORIZON",
    "flink.shard.getrecords.intervalmillis": "10",
    "flink.shard.discovery.intervalmillis": "50",
}


@pytest.fixture
def stream(kinesalite: Kinesalite) -> str:
    return kinesalite.create_stream(f"test-{uuid.uuid4().hex[:12]}", 3)


def source(server: Kinesalite, stream: str, schema: Any = None, **more: str) -> Any:
    dotted = {name.replace("_", "."): value for name, value in more.items()}
    return FlinkKinesisConsumer(
        stream, schema or SimpleStringSchema(), {**server.properties, **QUICK, **dotted}
    )


def read(consumer: Any, count: int, **local: Any) -> list[Any]:
    """So many records by a job."""
    with run_local(clock=WallClock(), **local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        stream = env.from_source(consumer, WatermarkStrategy.no_watermarks(), "kinesis")
        with stream.execute_and_collect() as records:
            return list(islice(records, count))


def keyed(count: int, keys: int = 7) -> list[tuple[str, bytes]]:
    return [(f"key-{i % keys}", f"key-{i % keys}:{i}".encode()) for i in range(count)]


def assert_in_order(values: list[str], records: list[tuple[str, bytes]]) -> None:
    """Each once, those of a key in the order in which they were put."""
    assert sorted(values) == sorted(data.decode() for _, data in records)
    by_key: dict[str, list[int]] = defaultdict(list)
    for value in values:
        key, _, number = value.partition(":")
        by_key[key].append(int(number))
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_all_shards_are_read(kinesalite: Kinesalite, stream: str) -> None:
    records = keyed(200)
    kinesalite.put(stream, records)
    assert_in_order(read(source(kinesalite, stream), 200, epoch_records=30), records)


def test_failures_lose_and_double_nothing(kinesalite: Kinesalite, stream: str) -> None:
    records = keyed(200)
    kinesalite.put(stream, records)
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.2)
    found = read(source(kinesalite, stream), 200, epoch_records=10, faults=faults)
    assert_in_order(found, records)


def test_resharding_keeps_the_order_of_keys(kinesalite: Kinesalite, stream: str) -> None:
    """Shards are split and merged while the job runs; children wait for their parents."""
    records = keyed(240)

    def put() -> None:
        for step in range(4):
            kinesalite.put(stream, records[60 * step : 60 * (step + 1)])
            shards = sorted(
                kinesalite.shards(stream), key=lambda s: int(s["HashKeyRange"]["StartingHashKey"])
            )
            if step % 2:
                kinesalite.merge(stream, *shards[:2])
            else:
                kinesalite.split(stream, shards[step % len(shards)])

    putting = threading.Thread(target=put)
    putting.start()
    faults = Faults(lost_epochs=0.2)
    found = read(source(kinesalite, stream), 240, epoch_records=10, faults=faults)
    putting.join()
    assert_in_order(found, records)


def test_shards_that_ended_before_are_read_first(kinesalite: Kinesalite, stream: str) -> None:
    records = keyed(120)
    kinesalite.put(stream, records[:60])
    kinesalite.split(stream, kinesalite.shards(stream)[0])
    kinesalite.put(stream, records[60:])
    assert_in_order(read(source(kinesalite, stream), 120), records)


class TestPositions:
    """Enumerator and reader without an engine."""

    @staticmethod
    def start(consumer: Any, state: Any = None, now: int | None = None) -> tuple[Any, list[Any]]:
        enumerator = pickle.loads(pickle.dumps(consumer)).create_enumerator()
        if state is not None:
            enumerator.restore_state(pickle.loads(pickle.dumps(state)))
        enumerator.start(EnumeratorContext(1))
        now = time.time_ns() // 1_000_000 if now is None else now
        return enumerator, list(enumerator.discover(now))

    @staticmethod
    def reader(consumer: Any, splits: list[Any], positions: Any = None) -> Any:
        context = ReaderContext(0, 1, lambda: time.time_ns() // 1_000_000)
        reader = consumer.create_reader(context)
        assigned = [AssignedSplit(split, (positions or {}).get(split.split_id)) for split in splits]
        reader.add_splits(pickle.loads(pickle.dumps(assigned)))
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

    def test_a_reader_goes_on_where_another_was(self, kinesalite: Kinesalite, stream: str) -> None:
        records = keyed(90)
        kinesalite.put(stream, records)
        consumer = source(kinesalite, stream)
        _, splits = self.start(consumer)
        found: list[str] = []
        positions: Any = None
        random.seed(3)
        while len(found) < 90:
            reader = self.reader(consumer, splits, positions)
            found += self.take(reader, min(random.randint(1, 20), 90 - len(found)))
            positions = pickle.loads(pickle.dumps(reader.snapshot_state()))
            reader.close()
        assert_in_order(found, records)

    def test_latest_begins_when_the_job_did(self, kinesalite: Kinesalite, stream: str) -> None:
        """Also when it fails before it has read anything, and in children of what ended."""
        kinesalite.put(stream, keyed(30))
        kinesalite.split(stream, kinesalite.shards(stream)[0])
        time.sleep(0.01)
        consumer = source(kinesalite, stream, flink_stream_initpos="LATEST")
        enumerator, splits = self.start(consumer)
        assert len(splits) == 4
        time.sleep(0.01)
        records = keyed(30)
        kinesalite.put(stream, records)
        kinesalite.split(stream, kinesalite.shards(stream)[0])
        reader = self.reader(consumer, splits, {})
        found = self.take(reader, 30)
        assert_in_order(found, records)
        _, none = self.start(consumer, enumerator.snapshot_state())
        assert none == []

    def test_a_time_to_begin_at(self, kinesalite: Kinesalite, stream: str) -> None:
        kinesalite.put(stream, [("a", b"old")] * 5)
        time.sleep(0.05)
        begin = f"{time.time():.3f}"
        time.sleep(0.05)
        kinesalite.put(stream, [("a", b"new")] * 5)
        more = {"flink_stream_initpos": "AT_TIMESTAMP", "flink_stream_initpos_timestamp": begin}
        assert read(source(kinesalite, stream, **more), 5) == ["new"] * 5

    def test_the_clock_of_the_driver_may_be_ahead(self, kinesalite: Kinesalite) -> None:
        """Kinesis refuses times that have not come; the job waits for its clock."""
        stream = kinesalite.create_stream(f"test-{uuid.uuid4().hex[:12]}", 1)
        consumer = source(kinesalite, stream, flink_stream_initpos="LATEST")
        _, splits = self.start(consumer, now=time.time_ns() // 1_000_000 + 500)
        reader = self.reader(consumer, splits)
        assert reader.poll(10) == []
        time.sleep(0.6)
        kinesalite.put(stream, [("a", b"later")])
        assert self.take(reader, 1) == ["later"]

    def test_children_wait_for_both_parents(self, kinesalite: Kinesalite, stream: str) -> None:
        shards = kinesalite.shards(stream)
        kinesalite.merge(stream, *shards[:2])
        enumerator, splits = self.start(source(kinesalite, stream))
        assert len(splits) == 3
        first, second = splits[:2]
        enumerator.handle_split_finished(first)
        assert enumerator.discover(0) == []
        state = enumerator.snapshot_state()
        enumerator, found = self.start(source(kinesalite, stream), state)
        assert found == []
        enumerator.handle_split_finished(second)
        assert len(enumerator.discover(0)) == 1


class Whole(KinesisDeserializationSchema[Any]):
    def deserialize(self, record: KinesisRecord) -> Any:
        return record.partition_key, record.data.decode()


def packed(records: list[tuple[str, bytes, int | None]]) -> bytes:
    """As the Kinesis Producer Library does it: keys, contents, hash keys if not of the keys."""

    def field(number: int, content: bytes | int) -> bytes:
        if isinstance(content, int):
            return bytes([number << 3, content])
        return bytes([number << 3 | 2]) + varint(len(content)) + content

    def varint(number: int) -> bytes:
        low, rest = number & 0x7F, number >> 7
        return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])

    explicit = [at for _, _, at in records if at is not None]
    message = b"".join(field(1, key.encode()) for key, _, _ in records)
    message += b"".join(field(2, str(at).encode()) for at in explicit)
    for index, (_, data, at) in enumerate(records):
        inner = field(1, index) + (b"" if at is None else field(2, explicit.index(at)))
        message += field(3, inner + field(3, data))
    return b"\xf3\x89\x9a\xc2" + message + hashlib.md5(message).digest()


def test_records_that_a_producer_packed(kinesalite: Kinesalite) -> None:
    """They come one by one; those that belong to another shard were sent there again."""
    stream = kinesalite.create_stream(f"test-{uuid.uuid4().hex[:12]}", 2)
    first, second = sorted(
        kinesalite.shards(stream), key=lambda s: int(s["HashKeyRange"]["StartingHashKey"])
    )
    inside = int(first["HashKeyRange"]["StartingHashKey"])
    outside = int(second["HashKeyRange"]["StartingHashKey"])
    long = b"x" * 300
    data = packed([("a", b"one", inside), ("b", long, inside), ("c", b"elsewhere", outside)])
    kinesalite.client.put_record(
        StreamName=stream, PartitionKey="any", Data=data, ExplicitHashKey=str(inside)
    )
    broken = data[:-1] + b"?"
    kinesalite.client.put_record(
        StreamName=stream, PartitionKey="plain", Data=b"two", ExplicitHashKey=str(inside)
    )
    assert read(source(kinesalite, stream, Whole()), 3) == [
        ("a", "one"),
        ("b", long.decode()),
        ("plain", "two"),
    ]
    assert broken != data


class TestBadRecords:
    def test_they_fail_the_job(self, kinesalite: Kinesalite, stream: str) -> None:
        kinesalite.put(stream, [("a", b"\xff")])
        with pytest.raises(Exception, match=r"the record \d+ of test-.*cannot be read") as failed:
            read(source(kinesalite, stream), 1)
        assert "set_error_policy" in str(failed.value)

    def test_they_become_dead_letters(self, kinesalite: Kinesalite, stream: str) -> None:
        kinesalite.put(stream, [("a", b"1"), ("a", b"\xff"), ("a", b"2")])
        bad: OutputTag[Any] = OutputTag("bad")
        consumer = source(kinesalite, stream)
        consumer.set_error_policy(ErrorPolicy.side_output(bad))
        with run_local(clock=WallClock()):
            env = StreamExecutionEnvironment.get_execution_environment()
            good = env.from_source(consumer, WatermarkStrategy.no_watermarks(), "kinesis")
            letters = good.get_side_output(bad).map(lambda letter: letter.raw)
            with good.union(letters).execute_and_collect() as records:
                assert set(islice(records, 3)) == {"1", "2", b"\xff"}


def test_a_stream_that_is_not_there(kinesalite: Kinesalite) -> None:
    with pytest.raises(KinesisError, match="there is no such stream in this account and region"):
        read(source(kinesalite, "nowhere"), 1)


def test_secrets_are_shown_nowhere(
    kinesalite: Kinesalite, stream: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kinesalite.put(stream, keyed(5))
    secret = {"aws.credentials.provider.basic.secretkey": "not-for-logs"}
    consumer = FlinkKinesisConsumer(
        stream, SimpleStringSchema(), {**kinesalite.properties, **QUICK, **secret}
    )
    assert len(read(consumer, 5, checkpoint_dir=str(tmp_path))) == 5
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(b"not-for-logs" in path.read_bytes() for path in files)
    assert "not-for-logs" not in caplog.text + repr(consumer._properties)
