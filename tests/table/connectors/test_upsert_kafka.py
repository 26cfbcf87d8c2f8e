"""Keys of records as columns, and topics whose keys stand for rows, on a real broker."""

from __future__ import annotations

from typing import Any

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table import TableEnvironment
from millrace.table.table_result import materialized


@pytest.fixture(scope="module")
def topics(kafka_broker: KafkaBroker) -> Topics:
    return Topics(kafka_broker.bootstrap_servers)


def declare(
    t_env: TableEnvironment, topics: Topics, topic: str, columns: str, more: str, name: str = "t"
) -> None:
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap_servers}', "
        f"'scan.bounded.mode' = 'latest-offset', {more})"
    )


def left(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in materialized(t_env.execute_sql(query).collect()))


UPSERT = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
KEYED = "id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED"


def test_the_last_record_of_each_key_is_a_row(t_env: TableEnvironment, topics: Topics) -> None:
    topic = topics.create()
    for key, value in [(1, 10), (2, 20), (1, 11), (2, None), (3, None), (4, 40)]:
        message = None if value is None else f'{{"id": {key}, "n": {value}}}'
        topics.send(topic, [message], key=f'{{"id": {key}}}')
    declare(t_env, topics, topic, KEYED, UPSERT)
    assert left(t_env, "SELECT * FROM t") == [(1, 11), (4, 40)]
    assert left(t_env, "SELECT SUM(n), COUNT(*) FROM t") == [(51, 2)]
    assert left(t_env, "SELECT id FROM t WHERE n < 20") == [(1,)]
    assert "ChangelogNormalize(key=[id])" in t_env.explain_sql("SELECT n FROM t")


def test_batch_mode_is_refused_as_in_flink(batch_env: TableEnvironment, topics: Topics) -> None:
    declare(batch_env, topics, topics.create(), KEYED, UPSERT)
    with pytest.raises(UnsupportedQueryError, match="only possible for INSERT-only table sources"):
        batch_env.execute_sql("SELECT * FROM t")


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_results_are_upserted_and_deleted_by_key(
    t_env: TableEnvironment, topics: Topics, guarantee: str
) -> None:
    source, topic = topics.create(), topics.create()
    topics.send(
        source,
        [
            '{"op": "c", "after": {"id": 1, "n": 5}}',
            '{"op": "c", "after": {"id": 2, "n": 6}}',
            '{"op": "d", "before": {"id": 2, "n": 6}}',
        ],
    )
    more = "'connector' = 'kafka', 'format' = 'debezium-json', 'scan.startup.mode' = "
    declare(t_env, topics, source, KEYED, f"{more}'earliest-offset'", "s")
    more = f"{UPSERT}, 'sink.delivery-guarantee' = '{guarantee}', 'sink.parallelism' = '1'"
    more += f", 'sink.transactional-id-prefix' = '{topic}'"
    declare(t_env, topics, topic, KEYED, more)
    t_env.execute_sql("INSERT INTO t SELECT id, n * 2 FROM s").wait()
    found = [(m.key(), m.value()) for m in topics.read(topic)]
    assert found == [
        (b'{"id":1}', b'{"id":1,"n":10}'),
        (b'{"id":2}', b'{"id":2,"n":12}'),
        (b'{"id":2}', None),
    ]
    assert left(t_env, "SELECT * FROM t") == [(1, 10)]


def test_columns_of_keys_with_a_prefix(t_env: TableEnvironment, topics: Topics) -> None:
    topic = topics.create()
    columns = (
        "k_id INT, k_word STRING, id STRING, at_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', "
        "headers MAP<STRING, BYTES> METADATA, kind STRING METADATA FROM 'timestamp-type' VIRTUAL"
    )
    more = (
        "'connector' = 'kafka', 'scan.startup.mode' = 'earliest-offset', 'value.format' = 'csv', "
        "'value.csv.field-delimiter' = '|', 'key.format' = 'csv', 'key.csv.field-delimiter' = ';', "
        "'key.fields' = 'k_id;k_word', 'key.fields-prefix' = 'k_', "
        "'value.fields-include' = 'EXCEPT_KEY'"
    )
    declare(t_env, topics, topic, columns, more)
    t_env.execute_sql(
        "INSERT INTO t SELECT 1, 'a', 'x', TO_TIMESTAMP_LTZ(1700000000123, 3), "
        "MAP['h', CAST('v' AS BYTES)]"
    ).wait()
    [message] = topics.read(topic)
    assert (message.key(), message.value()) == (b"1;a", b"x")
    assert message.timestamp()[1] == 1700000000123
    assert message.headers() == [("h", b"v")]
    topics.send(topic, ["y"])  # without a key
    query = (
        "SELECT k_id, id, k_word, headers, kind, at_time = TO_TIMESTAMP_LTZ(1700000000123, 3) "
        "FROM t"
    )
    assert [tuple(row) for row in t_env.execute_sql(query).collect()] == [
        (1, "x", "a", {"h": b"v"}, "CreateTime", True),
        (None, "y", None, {}, "CreateTime", False),
    ]
    assert left(t_env, "SELECT id FROM t") == [("x",), ("y",)]


def test_specific_offsets(t_env: TableEnvironment, topics: Topics) -> None:
    topic = topics.create(partitions=2)
    for partition in (0, 1):
        topics.send(topic, [f"{partition}-{n}" for n in range(4)], partition)
    more = (
        "'connector' = 'kafka', 'format' = 'raw', 'scan.startup.mode' = 'specific-offsets', "
        "'scan.startup.specific-offsets' = 'partition:0,offset:3;partition:1,offset:2'"
    )
    declare(t_env, topics, topic, "word STRING", more)
    assert left(t_env, "SELECT * FROM t") == [("0-3",), ("1-2",), ("1-3",)]


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id INT", UPSERT, "identify a row as PRIMARY KEY"),
        (
            KEYED,
            UPSERT.replace("'value.format' = 'json'", "'value.format' = 'debezium-json'"),
            "the formats for upserts are avro, avro-confluent, csv, json",
        ),
        (
            KEYED,
            f"{UPSERT}, 'value.json.ignore-parse-error' = 'true'",
            "'value.json.ignore-parse-errors'",
        ),
        (
            KEYED,
            f"{UPSERT}, 'json.ignore-parse-errors' = 'true'",
            "no option 'json.ignore-parse-errors'",
        ),
        (
            "id INT",
            "'connector' = 'kafka', 'format' = 'json', 'key.fields' = 'id'",
            "needs 'key.format'",
        ),
        (
            "id INT",
            "'connector' = 'kafka', 'format' = 'json', 'key.format' = 'raw', 'key.fields' = 'ID'",
            "'ID' is not a physical column; the columns are id",
        ),
        (
            "id INT",
            "'connector' = 'kafka', 'format' = 'json', 'key.format' = 'canal-json', "
            "'key.fields' = 'id'",
            "keys cannot be changes",
        ),
        ("id INT", "'connector' = 'kafka'", "needs the option 'format'"),
        (
            "id INT",
            "'connector' = 'kafka', 'format' = 'json', 'scan.startup.mode' = 'specific-offsets', "
            "'scan.startup.specific-offsets' = '0:1'",
            "write it as 'partition:0,offset:42",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, topics: Topics, columns: str, options: str, error: str
) -> None:
    declare(t_env, topics, "t", columns, options)
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM t")
