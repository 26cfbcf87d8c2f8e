"""Topics that are deleted and made anew below a job: an error, never records left out silently."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka_topics import Topics

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from millrace.connectors.kafka import KafkaError, KafkaSource
from millrace.connectors.kafka.topic_ids import (
    RecreatedTopicError,
    require_same_topics,
    topic_ids,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import CollectingSink, run_local

PATIENCE = 60.0

NOW = {"execution.checkpointing.interval": "0 ms"}
AVAILABLE_NOW = {**NOW, "millrace.available-now": "true"}


def recreate(topics: Topics, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": topics.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)
    until = time.monotonic() + 30
    while topic in admin.list_topics(timeout=30).topics:
        assert time.monotonic() < until
    topics.create(name=topic)
    # the old producer does not know of it for a while
    topics.__init__(topics.bootstrap_servers)  # type: ignore[misc]


def job(topics: Topics, topic: str, sink: Any, settings: dict[str, str]) -> Any:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
    source = builder.set_topics(topic).set_value_only_deserializer(SimpleStringSchema()).build()
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "read")
    stream.uid("read").sink_to(sink).uid("write")
    return env


def test_the_next_run_refuses_it(topics: Topics, wall_clock: Any, tmp_path: Path) -> None:
    """The new one has more records than the old one had: the first of them were left out."""
    topic = topics.create()
    topics.send(topic, ["a", "b"])
    local = {"clock": wall_clock, "checkpoint_dir": str(tmp_path), "resume": True}
    sink: CollectingSink[str] = CollectingSink()
    with run_local(**local):
        job(topics, topic, sink, AVAILABLE_NOW).execute("job")
    assert sink.values() == ["a", "b"]
    recreate(topics, topic)
    topics.send(topic, ["c", "d", "e"])
    with (
        run_local(**local),
        pytest.raises(KafkaError, match=f"topic '{topic}' was deleted and created again"),
    ):
        job(topics, topic, sink, AVAILABLE_NOW).execute("job")
    assert sink.values() == ["a", "b"]


def test_a_running_job_notices(topics: Topics, wall_clock: Any) -> None:
    topic = topics.create()
    topics.send(topic, ["a", "b"])
    sink: CollectingSink[str] = CollectingSink()
    with run_local(clock=wall_clock, epoch_limit=1_000_000):
        client = job(topics, topic, sink, NOW).execute_async("job")
        until = time.monotonic() + 30
        while len(sink.values()) < 2:
            assert time.monotonic() < until
            time.sleep(0.02)
        recreate(topics, topic)
        with pytest.raises(KafkaError, match=r"deleted and created again|cannot (be )?read"):
            client.get_job_execution_result().result(60)


def test_ids_are_those_of_the_topics(topics: Topics) -> None:
    first, second = topics.create(), topics.create()
    config = {"bootstrap.servers": topics.bootstrap_servers}
    asked = {first, second, "not-there"}
    # a broker that was asked may not have heard yet of a topic that was just made
    deadline = time.monotonic() + PATIENCE
    while len(found := topic_ids(config, asked)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found.keys() == {first, second}
    assert found[first] != found[second]
    assert topic_ids(config, []) == {}


def test_only_an_id_that_has_changed_is_an_error() -> None:
    require_same_topics({"a": "1"}, {"a": "1", "b": "2"})
    require_same_topics({"a": "1"}, {})
    with pytest.raises(RecreatedTopicError, match="topic 'a' was deleted"):
        require_same_topics({"a": "1"}, {"a": "2"})
