"""Topics of Avro as tables: with the table's schema, and with those of a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics
from schema_registry import SchemaRegistry

from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.table import TableEnvironment
from millrace.table.table_result import materialized

NAME = "org.apache.flink.avro.generated.record"


@pytest.fixture(scope="module")
def topics(kafka_broker: KafkaBroker) -> Topics:
    return Topics(kafka_broker.bootstrap_servers)


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with SchemaRegistry() as server:
        yield server


def declare(
    t_env: TableEnvironment,
    servers: str,
    topic: str,
    columns: str,
    more: str,
    connector: str = "kafka",
    name: str = "t",
) -> None:
    startup = "'scan.startup.mode' = 'earliest-offset', " if connector == "kafka" else ""
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = '{connector}', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{servers}', 'scan.bounded.mode' = 'latest-offset', "
        f"{startup}{more})"
    )


def written(topics: Topics, topic: str) -> list[bytes]:
    return [message.value() for message in topics.read(topic)]


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in materialized(t_env.execute_sql(query).collect()))


def test_avro_as_json_tells_which_type_of_a_union_a_value_is(
    t_env: TableEnvironment, topics: Topics
) -> None:
    topic = topics.create()
    columns = (
        "id BIGINT NOT NULL, word STRING, price DECIMAL(10, 2), at_time TIMESTAMP(3), "
        "tags ARRAY<STRING>, sizes MAP<STRING, INT>, part ROW<a INT, b STRING>, octets BYTES"
    )
    options = "'format' = 'avro', 'avro.encoding' = 'json'"
    declare(t_env, topics.bootstrap_servers, topic, columns, options)
    t_env.execute_sql(
        "INSERT INTO t VALUES (CAST(1 AS BIGINT), 'ä\"', CAST(1.50 AS DECIMAL(10, 2)), "
        "TIMESTAMP '1970-01-01 00:00:00.001', ARRAY['x'], MAP['k', 3], "
        "CAST(ROW(5, NULL) AS ROW<a INT, b STRING>), x'ff41')"
    ).wait()
    record = f"{NAME}_part"
    assert json.loads(written(topics, topic)[0]) == {
        "id": 1,
        "word": {"string": 'ä"'},
        "price": {"bytes": "\x00\x96"},
        "at_time": {"long": 1},
        "tags": {"array": [{"string": "x"}]},
        "sizes": {"map": {"k": {"int": 3}}},
        "part": {record: {"a": {"int": 5}, "b": None}},
        "octets": {"bytes": "\xffA"},
    }
    topics.send(topic, ['{"id": 2, "word": {"string": "b"}}'])
    query = "SELECT id, word, price, at_time, tags[1], sizes['k'], part.a, octets FROM t"
    found = rows(t_env, query)
    assert found[0][:3] == (1, 'ä"', Decimal("1.50"))
    assert found[0][4:] == ("x", 3, 5, b"\xffA")
    assert found[1] == (2, "b", *[None] * 6)
    topics.send(topic, ['{"id": "3", "word": null}'])
    with pytest.raises(MillraceError, match="cannot be read: .* an integer is required on field"):
        rows(t_env, "SELECT id FROM t")


def test_plain_avro_has_the_columns_in_their_order(t_env: TableEnvironment, topics: Topics) -> None:
    topic = topics.create()
    declare(
        t_env,
        topics.bootstrap_servers,
        topic,
        "id BIGINT NOT NULL, word STRING, price DECIMAL(10, 2), at_time TIMESTAMP(3), "
        "tags ARRAY<STRING>, sizes MAP<STRING, INT>, inner_row ROW<a INT, b STRING>",
        "'format' = 'avro'",
    )
    t_env.execute_sql(
        "INSERT INTO t SELECT CAST(1 AS BIGINT), 'ab', CAST(1.50 AS DECIMAL(10, 2)), "
        "TIMESTAMP '1970-01-01 00:00:00.001', ARRAY['x'], MAP['k', 3], "
        "CAST(ROW(5, 'c') AS ROW<a INT, b STRING>)"
    ).wait()
    expected = bytes.fromhex(
        "02"  # 1
        "0204616202040096"  # 'ab', 150 in two bytes
        "0202"  # 1 ms
        "0202020278000202026b020600"  # an array of a text, a map of a number
        "02020a020263"  # a row
    )
    assert written(topics, topic) == [expected]
    assert rows(t_env, "SELECT id, word, price, tags[1], sizes['k'], inner_row.b FROM t") == [
        (1, "ab", Decimal("1.50"), "x", 3, "c")
    ]
    assert rows(t_env, "SELECT CAST(at_time AS STRING) FROM t") == [("1970-01-01 00:00:00.001",)]
    assert rows(t_env, "SELECT word FROM t") == [("ab",)]


def test_schemas_are_registered_by_the_topic(
    t_env: TableEnvironment, topics: Topics, registry: SchemaRegistry
) -> None:
    topic = topics.create()
    declare(
        t_env,
        topics.bootstrap_servers,
        topic,
        "id INT NOT NULL, word STRING",
        f"'value.format' = 'avro-confluent', 'value.avro-confluent.url' = '{registry.url}', "
        f"'key.format' = 'avro-confluent', 'key.avro-confluent.url' = '{registry.url}', "
        "'key.fields' = 'id'",
    )
    t_env.execute_sql("INSERT INTO t VALUES (3, 'ab'), (4, CAST(NULL AS STRING))").wait()
    posted = {path for method, path in registry.requests if method == "POST"}
    assert f"/subjects/{topic}-value/versions" in posted
    assert f"/subjects/{topic}-key/versions" in posted
    values = written(topics, topic)
    assert [value[5:] for value in values] == [b"\x06\x02\x04ab", b"\x08\x00"]
    number = int.from_bytes(values[0][1:5], "big")
    _, answer = registry.answer("GET", f"/schemas/ids/{number}", None)
    assert json.loads(answer["schema"]) == {
        "type": "record",
        "name": NAME,
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "word", "type": ["null", "string"], "default": None},
        ],
    }
    assert rows(t_env, "SELECT * FROM t WHERE word IS NOT NULL") == [(3, "ab")]
    assert rows(t_env, "SELECT COUNT(*) FROM t") == [(2,)]


def test_messages_of_a_newer_schema_are_read_as_the_columns(
    t_env: TableEnvironment, topics: Topics, registry: SchemaRegistry
) -> None:
    topic = topics.create()
    schema = {
        "type": "record",
        "name": "com.shop.Order",
        "fields": [{"name": "more", "type": "string"}, {"name": "id", "type": "int"}],
    }
    number = registry.register(f"{topic}-value", schema)
    topics.send(topic, [b"\0" + number.to_bytes(4, "big") + b"\x02x\x0e"])
    declare(
        t_env,
        topics.bootstrap_servers,
        topic,
        "id BIGINT, word STRING",
        f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry.url}'",
    )
    assert [tuple(row) for row in t_env.execute_sql("SELECT * FROM t").collect()] == [(7, None)]


def test_upserts_of_a_registry(
    t_env: TableEnvironment, topics: Topics, registry: SchemaRegistry
) -> None:
    topic = topics.create()
    formats = ", ".join(
        f"'{part}.format' = 'avro-confluent', '{part}.avro-confluent.url' = '{registry.url}'"
        for part in ("key", "value")
    )
    declare(
        t_env,
        topics.bootstrap_servers,
        topic,
        "g INT, n BIGINT, PRIMARY KEY (g) NOT ENFORCED",
        formats,
        "upsert-kafka",
    )
    t_env.execute_sql(
        "INSERT INTO t SELECT g, COUNT(*) FROM (VALUES (1), (2), (1)) AS v(g) GROUP BY g"
    ).wait()
    assert rows(t_env, "SELECT * FROM t") == [(1, 2), (2, 1)]


def test_changes_of_debezium_in_avro(
    t_env: TableEnvironment, topics: Topics, registry: SchemaRegistry
) -> None:
    topic = topics.create()
    declare(
        t_env,
        topics.bootstrap_servers,
        topic,
        "g INT, n BIGINT",
        f"'format' = 'debezium-avro-confluent', 'debezium-avro-confluent.url' = '{registry.url}'",
    )
    t_env.execute_sql(
        "INSERT INTO t SELECT g, COUNT(*) FROM (VALUES (1), (2), (1)) AS v(g) GROUP BY g"
    ).wait()
    assert rows(t_env, "SELECT * FROM t") == [(1, 2), (2, 1)]
    assert rows(t_env, "SELECT SUM(n) FROM t") == [(3,)]


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id INT", "'format' = 'avro-confluent'", "needs the option 'avro-confluent.url'"),
        (
            "id INT",
            "'format' = 'avro-confluent', 'avro-confluent.ulr' = 'http://localhost:1'",
            "did you mean 'avro-confluent.url'",
        ),
        ("at_time TIMESTAMP(6)", "'format' = 'avro'", "column at_time: Avro does not hold"),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, columns: str, options: str, error: str
) -> None:
    declare(t_env, "localhost:1", "t", columns, options)
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM t")
