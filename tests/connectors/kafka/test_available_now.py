"""Runs that read Kafka to where it ends when they begin, and go on from there the next time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from millrace.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

SETTINGS = {"millrace.available-now": "true"}


def read(source: KafkaSource[Any], directory: Path, clock: Any, **local: Any) -> list[Any]:
    with run_local(clock=clock, checkpoint_dir=str(directory), **local):
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
        env.set_parallelism(2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
        return list(stream.execute_and_collect("job"))


@pytest.mark.parametrize(
    "local",
    [{}, {"workers": 2, "seed": 5, "epoch_records": 3, "faults": Faults(lost_epochs=0.2)}],
    ids=["plain", "with faults"],
)
def test_each_run_goes_on_behind_the_last(
    topics: Any, tmp_path: Path, wall_clock: Any, local: dict[str, Any]
) -> None:
    topic = topics.create(partitions=3)
    builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
    builder.set_topic_pattern(f"{topic}.*").set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    expected: list[str] = []
    for run in range(4):
        new = [f"{run}-{i}" for i in range(10)] if run != 2 else []
        for partition in {0, run % 3} if new else ():
            values = [f"{partition}:{value}" for value in new]
            topics.send(topic, values, partition)
            expected += values
        if run == 3:
            later = topics.create(name=f"{topic}-later")
            topics.send(later, ["new topic"])
            expected.append("new topic")
        found = read(builder.build(), tmp_path, wall_clock, **local)
        assert sorted(found) == sorted(expected), run
        expected.clear()


def test_marks_of_transactions_do_not_hold_a_run_up(
    topics: Any, tmp_path: Path, wall_clock: Any
) -> None:
    from confluent_kafka import Producer

    topic = topics.create()
    producer = Producer(
        {"bootstrap.servers": topics.bootstrap_servers, "transactional.id": "available-now"}
    )
    producer.init_transactions(30)
    builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
    builder.set_topics(topic).set_value_only_deserializer(SimpleStringSchema())
    for value in b"first", b"second":
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.commit_transaction(30)
        assert read(builder.build(), tmp_path, wall_clock) == [value.decode()]
    assert read(builder.build(), tmp_path, wall_clock) == []
