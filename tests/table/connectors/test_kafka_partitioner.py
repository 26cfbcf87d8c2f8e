"""Which partitions rows go to: ``sink.partitioner``."""

from __future__ import annotations

from typing import Any

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment


@pytest.fixture(scope="module")
def topics(kafka_broker: KafkaBroker) -> Topics:
    return Topics(kafka_broker.bootstrap_servers)


def last(record: Any, key: bytes, value: bytes, topic: str, partitions: list[int]) -> int:
    return partitions[-1]


def partitions_of(
    t_env: TableEnvironment, topics: Topics, name: str, guarantee: str = "at-least-once"
) -> list[int]:
    topic = topics.create(3)
    t_env.execute_sql(
        f"CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap_servers}', 'format' = 'json', "
        f"'sink.partitioner' = '{name}', 'sink.parallelism' = '1', "
        f"'sink.delivery-guarantee' = '{guarantee}', 'sink.transactional-id-prefix' = '{topic}')"
    )
    t_env.execute_sql("INSERT INTO t VALUES (1), (2), (3), (4), (5), (6)").wait()
    return sorted(message.partition() for message in topics.read(topic))


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_turns(t_env: TableEnvironment, topics: Topics, guarantee: str) -> None:
    assert partitions_of(t_env, topics, "round-robin", guarantee) == [0, 0, 1, 1, 2, 2]


def test_one_for_each_subtask(t_env: TableEnvironment, topics: Topics) -> None:
    assert partitions_of(t_env, topics, "fixed") == [0] * 6


def test_a_function_of_the_program(t_env: TableEnvironment, topics: Topics) -> None:
    assert partitions_of(t_env, topics, f"{__name__}:last") == [2] * 6


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("turns", "is not one of default, fixed and round-robin"),
        ("nowhere:last", "write a function or a class as 'module:name'"),
        ("round-robin", "is for records without keys"),
    ],
)
def test_what_cannot_be_is_refused(t_env: TableEnvironment, name: str, error: str) -> None:
    key = "'key.format' = 'json', 'key.fields' = 'id', " if name == "round-robin" else ""
    t_env.execute_sql(
        "CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' = 't', "
        "'properties.bootstrap.servers' = 'localhost:1', 'value.format' = 'json', "
        f"{key}'sink.partitioner' = '{name}')"
    )
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("INSERT INTO t VALUES (1)")
