"""The consumer of Flink 1's programs: its defaults, and a real broker for what it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common import Row, SimpleStringSchema, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.source import AssignedSplit, ReaderContext
from millrace.connectors.kafka import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from millrace.connectors.kafka.partition_split import KafkaPartitionSplit, SplitsRemoved
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors import FlinkKafkaConsumer
from millrace.datastream.formats.json import JsonRowDeserializationSchema
from millrace.testing import run_local

PROPERTIES = {"bootstrap.servers": "127.0.0.1:9", "group.id": "shop"}
TEXT = SimpleStringSchema()


def committed(strategy: KafkaOffsetResetStrategy) -> KafkaOffsetsInitializer:
    return KafkaOffsetsInitializer.committed_offsets(strategy)


@pytest.mark.parametrize(
    ("properties", "strategy"),
    [
        ({}, KafkaOffsetResetStrategy.LATEST),
        ({"auto.offset.reset": "latest"}, KafkaOffsetResetStrategy.LATEST),
        ({"auto.offset.reset": "earliest"}, KafkaOffsetResetStrategy.EARLIEST),
        ({"auto.offset.reset": "smallest"}, KafkaOffsetResetStrategy.EARLIEST),
        ({"auto.offset.reset": "none"}, KafkaOffsetResetStrategy.NONE),
    ],
)
def test_it_begins_where_its_group_is(
    properties: dict[str, str], strategy: KafkaOffsetResetStrategy
) -> None:
    consumer = FlinkKafkaConsumer("orders", TEXT, PROPERTIES | properties)
    assert consumer._source()._reading.starting_offsets == committed(strategy)


def test_its_methods_choose_the_start() -> None:
    """The last of them counts."""
    consumer = FlinkKafkaConsumer(["orders", "returns"], TEXT, PROPERTIES)

    def start() -> KafkaOffsetsInitializer:
        return consumer._source()._reading.starting_offsets

    assert consumer.set_start_from_earliest() is consumer
    assert start() == KafkaOffsetsInitializer.earliest()
    consumer.set_start_from_latest()
    assert start() == KafkaOffsetsInitializer.latest()
    consumer.set_start_from_timestamp(1_000)
    assert start() == KafkaOffsetsInitializer.timestamp(1_000)
    consumer.set_start_from_group_offsets()
    assert start() == committed(KafkaOffsetResetStrategy.LATEST)
    assert consumer._source()._reading.subscription.topics == ("orders", "returns")


def test_partitions_are_looked_for_if_it_is_asked_to() -> None:
    consumer = FlinkKafkaConsumer("orders", TEXT, PROPERTIES)
    assert consumer._source()._discovery_interval() is None
    asked = {"flink.partition-discovery.interval-millis": "500"}
    consumer = FlinkKafkaConsumer("orders", TEXT, PROPERTIES | asked)
    assert consumer._source()._discovery_interval() == 500


def test_the_type_of_its_records() -> None:
    kind = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(kind).build()
    assert FlinkKafkaConsumer("orders", schema, PROPERTIES).get_produced_type() == kind
    text = FlinkKafkaConsumer("orders", TEXT, PROPERTIES)
    assert text.get_produced_type() == Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FlinkKafkaConsumer("t", TEXT, {}), "needs the property 'bootstrap.servers'"),
        (lambda: FlinkKafkaConsumer([], TEXT, PROPERTIES), "takes names of topics"),
        (lambda: FlinkKafkaConsumer("t", str, PROPERTIES), "DeserializationSchema"),
        (lambda: FlinkKafkaConsumer("t", TEXT, "localhost"), "properties are a dict"),
        (
            lambda: FlinkKafkaConsumer("t", TEXT, PROPERTIES).set_start_from_timestamp("now"),
            "ms since the epoch",
        ),
    ],
)
def test_what_it_refuses(make: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        make()


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"bootstrap.servers": "127.0.0.1:9"}, "set the property 'group.id'"),
        (PROPERTIES | {"auto.offset.reset": "first"}, "earliest, latest or none, not 'first'"),
    ],
)
def test_a_start_that_cannot_be_found_is_refused(properties: dict[str, str], said: str) -> None:
    """When the job starts, since a method may choose another until then."""
    consumer = FlinkKafkaConsumer("orders", TEXT, properties)
    with pytest.raises(JobDefinitionError, match=said):
        consumer.create_enumerator()
    consumer.set_start_from_earliest().create_enumerator()


@pytest.mark.parametrize("keeps", [False, True])
def test_restored_partitions_of_other_topics_are_left_out(keeps: bool) -> None:
    """As read; the enumerator keeps their positions."""
    consumer = FlinkKafkaConsumer("orders", TEXT, PROPERTIES)
    if keeps:
        consumer.disable_filter_restored_partitions_with_subscribed_topics()
    context = ReaderContext(0, 1, lambda: 0)
    reader = consumer.create_reader(context)
    former = KafkaPartitionSplit("returns-0", "returns", 0, 0)
    reader.add_splits([AssignedSplit(former, 5)])
    try:
        assert [(found.split_id, found.finished) for found in reader.poll(10)] == (
            [] if keeps else [("returns-0", True)]
        )
        assert context.events == ([] if keeps else [SplitsRemoved({"returns-0": 5})])
    finally:
        reader.close()


def test_it_reads_from_where_it_is_told(topics: Any, wall_clock: Any, tmp_path: Path) -> None:
    """Positions are committed for the group, as Flink does with checkpoints."""
    topic, group = topics.create(), "former-consumer"
    for i in range(10):
        topics.send(topic, [f'{{"n": {i}}}'], timestamp=1_000 + i)
    topics.commit(group, topic, 6)
    kind = Types.ROW_NAMED(["n"], [Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(kind).build()
    servers = {"bootstrap.servers": topics.bootstrap_servers, "group.id": group}

    def read(consumer: FlinkKafkaConsumer, count: int) -> list[Any]:
        with run_local(clock=wall_clock, checkpoint_dir=str(tmp_path / str(count))):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.enable_checkpointing(1)
            with env.add_source(consumer).execute_and_collect() as results:
                return [next(results) for _ in range(count)]

    def consumer() -> FlinkKafkaConsumer:
        made = FlinkKafkaConsumer(topic, schema, servers)
        return made.set_commit_offsets_on_checkpoints(False)

    assert read(consumer(), 4) == [Row(n=i) for i in (6, 7, 8, 9)]
    assert read(consumer().set_start_from_earliest(), 10) == [Row(n=i) for i in range(10)]
    assert read(consumer().set_start_from_timestamp(1_007), 3) == [Row(n=i) for i in (7, 8, 9)]
    assert topics.committed(group, topic) == 6


def test_without_committed_offsets_it_may_refuse(topics: Any, wall_clock: Any) -> None:
    topic = topics.create()
    servers = {"bootstrap.servers": topics.bootstrap_servers, "group.id": "former-none"}
    consumer = FlinkKafkaConsumer(topic, TEXT, servers | {"auto.offset.reset": "none"})
    with run_local(clock=wall_clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(consumer, WatermarkStrategy.no_watermarks(), "former")
        with pytest.raises(MillraceError, match="there is no committed offset of topic-"):
            list(stream.execute_and_collect())
