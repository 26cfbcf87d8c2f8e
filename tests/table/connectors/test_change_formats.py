"""Changes of databases as tables: messages of Debezium, Canal and Maxwell."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table import TableEnvironment
from millrace.table.table_result import materialized

DEBEZIUM = [
    '{"op": "c", "before": null, "after": {"id": 1, "n": 10}}',
    '{"op": "c", "before": null, "after": {"id": 2, "n": 20}}',
    '{"op": "u", "before": {"id": 1, "n": 10}, "after": {"id": 1, "n": 11}}',
    '{"op": "d", "before": {"id": 2, "n": 20}, "after": null}',
]
CANAL = [
    '{"data": [{"id": 1, "n": 10}, {"id": 2, "n": 20}], "type": "INSERT"}',
    '{"data": [{"id": 1, "n": 11}], "old": [{"n": 10}], "type": "UPDATE"}',
    '{"data": [{"id": 2, "n": 20}], "type": "DELETE"}',
]
MAXWELL = [
    '{"type": "insert", "data": {"id": 1, "n": 10}}',
    '{"type": "insert", "data": {"id": 2, "n": 20}}',
    '{"type": "update", "data": {"id": 1, "n": 11}, "old": {"n": 10}}',
    '{"type": "delete", "data": {"id": 2, "n": 20}}',
]
OGG = [
    '{"op_type": "I", "after": {"id": 1, "n": 10}}',
    '{"op_type": "I", "before": null, "after": {"id": 2, "n": 20}}',
    '{"op_type": "U", "before": {"id": 1, "n": 10}, "after": {"id": 1, "n": 11}}',
    '{"op_type": "T"}',
    '{"op_type": "D", "before": {"id": 2, "n": 20}}',
]
SHORT = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
MESSAGES = {
    "canal-json": CANAL,
    "debezium-json": DEBEZIUM,
    "maxwell-json": MAXWELL,
    "ogg-json": OGG,
}


def declare(t_env: TableEnvironment, path: Path, name: str, key: str = "", more: str = "") -> None:
    t_env.execute_sql(
        f"CREATE TABLE t (id INT, n INT{key}) WITH ('connector' = 'filesystem', "
        f"'path' = '{path}', 'format' = '{name}'{more})"
    )


def left(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    """What the changes of a query add up to."""
    return sorted(tuple(row) for row in materialized(t_env.execute_sql(query).collect()))


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_changes_update_results(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.json").write_text("\n".join(MESSAGES[name]))
    declare(t_env, tmp_path, name)
    kinds = [
        SHORT[row.get_row_kind().name] for row in t_env.execute_sql("SELECT * FROM t").collect()
    ]
    assert kinds == ["+I", "+I", "-U", "+U", "-D"]
    assert left(t_env, "SELECT * FROM t") == [(1, 11)]
    assert left(t_env, "SELECT COUNT(*), SUM(n) FROM t") == [(1, 11)]
    assert left(t_env, "SELECT n FROM t WHERE n < 11") == []


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_what_is_written_is_read_again(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    declare(t_env, tmp_path / "t", name)
    t_env.execute_sql(
        "INSERT INTO t SELECT MAX(a), CAST(COUNT(*) AS INT) FROM (VALUES (1, 1), (2, 1), (3, 2)) "
        "AS v(a, g) GROUP BY g"
    ).wait()
    assert left(t_env, "SELECT * FROM t") == [(2, 2), (3, 1)]


ROW_JSON = b'{"id":1,"n":1}'
WRITTEN = {
    "canal-json": b'{"data":[%s],"type":"INSERT"}\n' % ROW_JSON,
    "debezium-json": b'{"before":null,"after":%s,"op":"c"}\n' % ROW_JSON,
    "maxwell-json": b'{"data":%s,"type":"insert"}\n' % ROW_JSON,
    "ogg-json": b'{"before":null,"after":%s,"op_type":"I"}\n' % ROW_JSON,
}
"""As Flink 2.3 writes them."""


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_what_is_written_is_what_flink_writes(
    t_env: TableEnvironment, tmp_path: Path, name: str
) -> None:
    declare(t_env, tmp_path / "t", name)
    t_env.execute_sql("INSERT INTO t VALUES (1, 1)").wait()
    [file] = [each for each in (tmp_path / "t").iterdir() if each.is_file()]
    assert file.read_bytes() == WRITTEN[name]


def test_null_fields_are_left_out_where_that_is_asked_for(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    more = ", 'ogg-json.encode.ignore-null-fields' = 'true'"
    declare(t_env, tmp_path / "t", "ogg-json", more=more)
    t_env.execute_sql("INSERT INTO t VALUES (1, CAST(NULL AS INT))").wait()
    [file] = [each for each in (tmp_path / "t").iterdir() if each.is_file()]
    assert file.read_bytes() == b'{"before":null,"after":{"id":1},"op_type":"I"}\n'


def test_changes_that_are_told_twice_are_taken_once(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text("\n".join([*DEBEZIUM[:2], *DEBEZIUM]))
    declare(t_env, tmp_path, "debezium-json", ", PRIMARY KEY (id) NOT ENFORCED")
    t_env.get_config().set("table.exec.source.cdc-events-duplicate", "true")
    assert "ChangelogNormalize(key=[id])" in t_env.explain_sql("SELECT n FROM t")
    assert left(t_env, "SELECT * FROM t") == [(1, 11)]
    assert left(t_env, "SELECT SUM(n) FROM t") == [(11,)]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"])
def test_batch_mode_reads_inserts_only(
    batch_env: TableEnvironment, tmp_path: Path, key: str
) -> None:
    (tmp_path / "a.json").write_text("\n".join(DEBEZIUM))
    declare(batch_env, tmp_path, "debezium-json", key)
    with pytest.raises(JobDefinitionError) as refused:
        batch_env.execute_sql("SELECT n FROM t")
    assert "line 1, column 15: Querying a table in batch mode" in str(refused.value)
    assert "gives +I, -U, +U, -D" in str(refused.value)


def test_a_broken_message_is_skipped_where_that_is_asked_for(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(
        b"\n".join([DEBEZIUM[0].encode(), b'{"op": "c", "after": {"id": \xff}}'])
    )
    declare(t_env, tmp_path, "debezium-json", more=", 'debezium-json.ignore-parse-errors' = 'true'")
    assert left(t_env, "SELECT * FROM t") == [(1, 10)]


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_a_wrong_field_is_null_and_its_change_is_not_lost(
    t_env: TableEnvironment, tmp_path: Path, name: str
) -> None:
    """A change that is left out would leave a wrong row for good."""
    messages = [each.replace("20", '"many"').replace("11", "[]") for each in MESSAGES[name]]
    (tmp_path / "a.json").write_text("\n".join(messages))
    declare(t_env, tmp_path, name, more=f", '{name}.ignore-parse-errors' = 'true'")
    assert left(t_env, "SELECT * FROM t") == [(1, None)]


def test_what_takes_inserts_only_refuses_changes(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("\n".join(DEBEZIUM))
    declare(t_env, tmp_path, "debezium-json")
    t_env.execute_sql(
        "CREATE TABLE s (id INT, n INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/s', 'format' = 'json')"
    )
    with pytest.raises(UnsupportedQueryError, match="doesn't support consuming update"):
        t_env.execute_sql("INSERT INTO s SELECT * FROM t")


def test_changes_of_a_topic_with_their_metadata(
    t_env: TableEnvironment, kafka_broker: KafkaBroker
) -> None:
    topics = Topics(kafka_broker.bootstrap_servers)
    topic = topics.create()
    topics.send(topic, DEBEZIUM)
    t_env.execute_sql(
        "CREATE TABLE t (id INT, n INT, place BIGINT METADATA FROM 'offset' VIRTUAL) WITH ("
        f"'connector' = 'kafka', 'topic' = '{topic}', 'format' = 'debezium-json', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap_servers}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )
    found = [
        (SHORT[row.get_row_kind().name], *row)
        for row in t_env.execute_sql("SELECT * FROM t").collect()
    ]
    assert found == [
        ("+I", 1, 10, 0),
        ("+I", 2, 20, 1),
        ("-U", 1, 10, 2),
        ("+U", 1, 11, 2),
        ("-D", 2, 20, 3),
    ]
    assert left(t_env, "SELECT SUM(n) FROM t") == [(11,)]


@pytest.mark.parametrize(
    ("name", "message", "columns", "expected"),
    [
        (
            "debezium-json",
            '{"op": "c", "after": {"id": 1}, "ts_ms": 1700000000123, "source": {"ts_ms": '
            '1700000000001, "db": "shop", "schema": "public", "table": "orders", "lsn": 5}}',
            {
                "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
                "source.timestamp": "TIMESTAMP_LTZ(3)",
                "source.database": "STRING",
                "source.schema": "STRING",
                "source.table": "STRING",
                "source.properties": "MAP<STRING, STRING>",
                "schema": "STRING",
            },
            (
                datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC),
                datetime(2023, 11, 14, 22, 13, 20, 1_000, UTC),
                *("shop", "public", "orders"),
                {
                    **{"ts_ms": "1700000000001", "db": "shop", "schema": "public"},
                    **{"table": "orders", "lsn": "5"},
                },
                None,
            ),
        ),
        (
            "canal-json",
            '{"type": "INSERT", "data": [{"id": "1"}], "database": "shop", "table": "orders", '
            '"sqlType": {"id": 4}, "pkNames": ["id"], "ts": 1700000000123}',
            {
                "database": "STRING",
                "table": "STRING",
                "sql-type": "MAP<STRING, INT>",
                "pk-names": "ARRAY<STRING>",
                "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
            },
            (
                *("shop", "orders", {"id": 4}, ["id"]),
                datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC),
            ),
        ),
        (
            "maxwell-json",
            '{"type": "insert", "data": {"id": 1}, "database": "shop", "table": "orders", '
            '"primary_key_columns": ["id"], "ts": 1700000000}',
            {
                "database": "STRING",
                "table": "STRING",
                "primary-key-columns": "ARRAY<STRING>",
                "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
            },
            ("shop", "orders", ["id"], datetime(2023, 11, 14, 22, 13, 20, 0, UTC)),
        ),
        (
            "ogg-json",
            '{"op_type": "I", "after": {"id": 1}, "table": "S.ORDERS", "primary_keys": ["id"], '
            '"op_ts": "2023-11-14 22:13:20.000001", "current_ts": "2023-11-14T22:13:20.123000"}',
            {
                "table": "STRING",
                "primary-keys": "ARRAY<STRING>",
                "ingestion-timestamp": "TIMESTAMP_LTZ(6)",
                "event-timestamp": "TIMESTAMP_LTZ(6)",
            },
            (
                *("S.ORDERS", ["id"], datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)),
                datetime(2023, 11, 14, 22, 13, 20, 1, UTC),
            ),
        ),
    ],
    ids=["debezium-json", "canal-json", "maxwell-json", "ogg-json"],
)
def test_metadata_of_changes(
    t_env: TableEnvironment,
    kafka_broker: KafkaBroker,
    name: str,
    message: str,
    columns: dict[str, str],
    expected: tuple[Any, ...],
) -> None:
    topics = Topics(kafka_broker.bootstrap_servers)
    topic = topics.create()
    topics.send(topic, [message])
    declared = ", ".join(
        f"`{key}` {kind} METADATA FROM 'value.{key}' VIRTUAL" for key, kind in columns.items()
    )
    t_env.execute_sql(
        f"CREATE TABLE t ({declared}, id INT) WITH ('connector' = 'kafka', "
        f"'topic' = '{topic}', 'value.format' = '{name}', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap_servers}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )
    (found,) = t_env.execute_sql("SELECT * FROM t").collect()
    assert tuple(found) == (*expected, 1)


def test_the_schema_that_messages_of_debezium_carry(
    t_env: TableEnvironment, kafka_broker: KafkaBroker
) -> None:
    topics = Topics(kafka_broker.bootstrap_servers)
    topic = topics.create()
    topics.send(
        topic,
        ['{"schema": {"type": "struct"}, "payload": {"op": "c", "after": {"id": 1}, "ts_ms": 5}}'],
    )
    more = "'value.debezium-json.schema-include' = 'true', "
    create = (
        "CREATE TABLE {0} (id INT, s STRING METADATA FROM 'value.{1}' VIRTUAL, t TIMESTAMP_LTZ(3) "
        "METADATA FROM 'value.ingestion-timestamp' VIRTUAL) WITH ('connector' = 'kafka', "
        f"'topic' = '{topic}', 'value.format' = 'debezium-json', {more}"
        f"'properties.bootstrap.servers' = '{topics.bootstrap_servers}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )
    t_env.execute_sql(create.format("t", "schema"))
    query = "SELECT id, s, t = TO_TIMESTAMP_LTZ(5, 3) FROM t"
    assert left(t_env, query) == [(1, '{"type":"struct"}', True)]
    t_env.execute_sql(create.format("u", "source.tabel"))
    with pytest.raises(JobDefinitionError, match="no metadata 'value.source.tabel'; known are"):
        t_env.execute_sql("SELECT * FROM u")
