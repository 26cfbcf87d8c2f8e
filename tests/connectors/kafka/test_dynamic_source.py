"""Streams whose clusters and topics change while a job reads them, against real brokers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics
from running import fixture_of

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.connectors.kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    KafkaMetadataService,
    KafkaOffsetsInitializer,
    KafkaStream,
    SingleClusterTopicMetadataService,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import CollectingSink, Faults, run_local

TEXT = SimpleStringSchema()
PATIENCE_S = 60


class FileService(KafkaMetadataService):
    """Reads what is where from a file: {stream: {cluster: [servers, topics]}}."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._questions = path.with_suffix(".questions")

    def say(self, streams: dict[str, dict[str, tuple[str, list[str]]]]) -> None:
        self.path.with_suffix(".new").write_text(json.dumps(streams))
        self.path.with_suffix(".new").replace(self.path)

    def wait_until_heard(self) -> None:
        """Until readers go by what it says now: it has been asked for that, and once more by a
        later epoch. Besides, one answer may have been under way."""
        until, wanted = time.monotonic() + PATIENCE_S, self._asked() + 3
        while self._asked() < wanted:
            assert time.monotonic() < until, "nobody asks"
            time.sleep(0.01)

    def _asked(self) -> int:
        return self._questions.stat().st_size if self._questions.exists() else 0

    def get_all_streams(self) -> list[KafkaStream]:
        with self._questions.open("a") as questions:
            questions.write("?")
        return [
            KafkaStream(
                stream,
                {
                    name: ClusterMetadata(
                        frozenset(topics),
                        {"bootstrap.servers": servers, "sasl.password": "do-not-tell"},
                    )
                    for name, (servers, topics) in clusters.items()
                },
            )
            for stream, clusters in json.loads(self.path.read_text()).items()
        ]


other = fixture_of(KafkaBroker, "module")
"""A second cluster."""


@pytest.fixture
def service(tmp_path: Path) -> FileService:
    return FileService(tmp_path / "streams.json")


def source(service: KafkaMetadataService, *streams: str, interval: int = 20, **more: str) -> Any:
    builder = DynamicKafkaSource.builder().set_stream_ids(set(streams or ["orders"]))
    builder.set_property("stream-metadata-discovery-interval-ms", str(interval))
    for name, value in more.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.set_kafka_metadata_service(service).set_value_only_deserializer(TEXT)


def job(made: Any, sink: CollectingSink[str], parallelism: int = 2) -> Any:
    settings = {"execution.checkpointing.interval": "0 ms"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.set_parallelism(parallelism)
    stream = env.from_source(made.build(), WatermarkStrategy.no_watermarks(), "orders")
    stream.uid("read").sink_to(sink).uid("write")
    return env


class Running:
    """A job that reads until its test has seen enough."""

    def __init__(self, made: Any, clock: Any, **local: Any) -> None:
        self.sink: CollectingSink[str] = CollectingSink()
        self._steps: list[tuple[int, Callable[[], None]]] = []
        self._made, self._clock, self._local = made, clock, local
        self._end = 0

    def when(self, records: int, act: Callable[[], None]) -> Running:
        """Do something when so many records are there."""
        self._steps.append((records, act))
        return self

    def until(self, records: int) -> list[str]:
        """Read so many, and a moment longer."""
        self._end = records
        with run_local(clock=self._clock, epoch_limit=1_000_000, **self._local):
            env = job(self._made, self.sink)
            client = env.execute_async("dynamic")
            result = client.get_job_execution_result()
            watcher = threading.Thread(target=lambda: self._watch(client), daemon=True)
            watcher.start()
            watcher.join(PATIENCE_S)
            if result.done():
                result.result()  # it has failed
            client.cancel().result()
            with suppress(MillraceError):
                result.result(PATIENCE_S)  # it has released its directory
        return self.sink.values()

    def _watch(self, client: Any) -> None:
        for records, act in [*self._steps, (self._end, lambda: time.sleep(0.3))]:
            until = time.monotonic() + PATIENCE_S / 2
            while len(self.sink.values()) < records and time.monotonic() < until:
                time.sleep(0.01)
            act()


@pytest.mark.turns(7)
def test_a_cluster_is_added_and_another_removed(
    topics: Topics, other: KafkaBroker, service: FileService, wall_clock: Any
) -> None:
    """A stream moves: what the new cluster had before it was known is read, too; what comes to the
    old one afterwards is not."""
    far = Topics(other.bootstrap_servers)
    old, new = topics.create(2), far.create(2)
    here, there = topics.bootstrap_servers, other.bootstrap_servers
    topics.send(old, ["a", "b"], 0)
    topics.send(old, ["c"], 1)
    far.send(new, ["d"], 1)
    service.say({"orders": {"near": (here, [old])}})

    def add() -> None:
        service.say({"orders": {"near": (here, [old]), "far": (there, [new])}})

    def remove() -> None:
        far.send(new, ["e"])
        service.say({"orders": {"far": (there, [new])}})
        service.wait_until_heard()
        topics.send(old, ["not read"])
        far.send(new, ["f"])

    found = Running(source(service), wall_clock).when(3, add).when(4, remove).until(6)
    assert sorted(found) == ["a", "b", "c", "d", "e", "f"]


def test_what_comes_back_goes_on_where_it_was_left(
    topics: Topics, service: FileService, wall_clock: Any
) -> None:
    kept, moved = topics.create(), topics.create()
    here = topics.bootstrap_servers
    topics.send(kept, ["k1"])
    topics.send(moved, ["m1", "m2"])
    service.say({"orders": {"main": (here, [kept, moved])}})

    def remove() -> None:
        service.say({"orders": {"main": (here, [kept])}})
        service.wait_until_heard()
        topics.send(moved, ["m3", "m4"])
        topics.send(kept, ["k2"])

    def back() -> None:
        service.say({"orders": {"main": (here, [kept, moved])}})

    found = Running(source(service), wall_clock).when(3, remove).when(4, back).until(6)
    assert sorted(found[:4]) == ["k1", "k2", "m1", "m2"]
    assert found[4:] == ["m3", "m4"]


LONG = [pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, 10)]


@pytest.mark.parametrize("seed", [0, *LONG])
def test_each_record_once_whatever_fails(
    seed: int, topics: Topics, other: KafkaBroker, service: FileService, wall_clock: Any
) -> None:
    far = Topics(other.bootstrap_servers)
    first, second = topics.create(3), far.create(2)
    here, there = topics.bootstrap_servers, other.bootstrap_servers
    expected = []
    for partition in range(3):
        values = [f"near-{partition}-{n}" for n in range(40)]
        topics.send(first, values, partition)
        expected += values
    for partition in range(2):
        values = [f"far-{partition}-{n}" for n in range(40)]
        far.send(second, values, partition)
        expected += values
    service.say({"orders": {"near": (here, [first])}})

    def both() -> None:
        service.say({"orders": {"near": (here, [first]), "far": (there, [second])}})

    faults = Faults(lost_epochs=0.2, lost_workers=0.2)
    local = {"workers": 2, "seed": seed, "faults": faults, "epoch_records": 7}
    found = Running(source(service), wall_clock, **local).when(30, both).until(200)
    assert sorted(found) == sorted(expected)


def test_a_job_goes_on_with_what_has_changed_meanwhile(
    topics: Topics, service: FileService, wall_clock: Any, tmp_path: Path
) -> None:
    """And the checkpoint has no passwords of clusters."""
    first, second, third = (topics.create(2) for _ in range(3))
    here = topics.bootstrap_servers
    topics.send(first, ["a1", "a2"])
    topics.send(second, ["b1"], 1)
    service.say({"orders": {"main": (here, [first, second])}})
    local = {"checkpoint_dir": str(tmp_path / "checkpoints"), "resume": True}
    running_job = Running(source(service), wall_clock, **local)
    assert sorted(running_job.until(3)) == ["a1", "a2", "b1"]
    written = [p.read_bytes() for p in (tmp_path / "checkpoints").rglob("*") if p.is_file()]
    assert written
    assert not any(b"do-not-tell" in data for data in written)
    topics.send(first, ["a3"], 1)
    topics.send(second, ["not read"], 1)
    topics.send(third, ["c1"])
    service.say({"orders": {"main": (here, [first, third])}})
    again = Running(source(service), wall_clock, **local)
    assert sorted(again.until(2)) == ["a3", "c1"]


def test_topics_of_one_cluster_by_pattern(topics: Topics, wall_clock: Any) -> None:
    one, two = topics.create(name="dynamic-one"), topics.create(name="dynamic-two")
    topics.send(one, ["1"])
    topics.send(two, ["2"])
    service = SingleClusterTopicMetadataService(
        "main", {"bootstrap.servers": topics.bootstrap_servers}
    )
    builder = DynamicKafkaSource.builder().set_stream_pattern("dynamic-.*")
    builder.set_kafka_metadata_service(service).set_value_only_deserializer(TEXT)
    builder.set_bounded(KafkaOffsetsInitializer.latest())
    sink: CollectingSink[str] = CollectingSink()
    with run_local(clock=wall_clock):
        job(builder, sink).execute()
    assert sorted(sink.values()) == ["1", "2"]


def test_a_service_that_fails_ends_the_job_at_its_threshold(
    topics: Topics, service: FileService, wall_clock: Any
) -> None:
    service.say({"orders": {"main": (topics.bootstrap_servers, [topics.create()])}})
    made = source(service).set_property("stream-metadata-discovery-failure-threshold", "3")
    with run_local(clock=wall_clock, epoch_limit=1_000_000):
        env = job(made, CollectingSink())
        client = env.execute_async("dynamic")
        service.wait_until_heard()
        service.path.unlink()
        with pytest.raises(Exception, match="metadata service does not answer"):
            client.get_job_execution_result().result(PATIENCE_S)


def test_what_is_missing_is_named(service: FileService) -> None:
    with pytest.raises(JobDefinitionError, match=r"DynamicKafkaSource needs set_stream_ids\(\)"):
        DynamicKafkaSource.builder().build()
    with pytest.raises(JobDefinitionError, match="takes a set of names"):
        DynamicKafkaSource.builder().set_stream_ids("orders")
    with pytest.raises(JobDefinitionError, match="takes a KafkaMetadataService"):
        DynamicKafkaSource.builder().set_kafka_metadata_service("x")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="once"):
        DynamicKafkaSource.builder().set_stream_ids({"a"}).set_stream_pattern("b")
    with pytest.raises(JobDefinitionError, match="needs 'bootstrap.servers'"):
        SingleClusterTopicMetadataService("main", {})
