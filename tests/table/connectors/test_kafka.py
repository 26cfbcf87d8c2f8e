"""Topics of a real broker as tables."""

from __future__ import annotations

import pytest
from kafka_broker import KafkaBroker
from kafka_topics import Topics

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment


@pytest.fixture(scope="module")
def topics(kafka_broker: KafkaBroker) -> Topics:
    return Topics(kafka_broker.bootstrap_servers)


def declare(t_env: TableEnvironment, topics: Topics, topic: str, columns: str, more: str) -> None:
    t_env.execute_sql(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap_servers}', {more})"
    )


BOUNDED = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"


@pytest.mark.parametrize("name", ["csv", "json"])
def test_what_is_written_is_read_with_its_place(
    batch_env: TableEnvironment, topics: Topics, name: str
) -> None:
    topic = topics.create()
    declare(
        batch_env,
        topics,
        topic,
        "id INT, word STRING, place BIGINT METADATA FROM 'offset' VIRTUAL, "
        "`partition` INT METADATA VIRTUAL, topic STRING METADATA VIRTUAL, "
        "at_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL",
        f"'format' = '{name}', 'sink.delivery-guarantee' = 'exactly-once', "
        f"'sink.transactional-id-prefix' = '{topic}', {BOUNDED}",
    )
    batch_env.execute_sql("INSERT INTO t SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v").wait()
    assert len(topics.values(topic)) == 2
    query = "SELECT id, word, place, `partition`, topic, at_time > TO_TIMESTAMP_LTZ(0, 3) FROM t"
    found = [tuple(row) for row in batch_env.execute_sql(query).collect()]
    assert found == [(1, "a", 0, 0, topic, True), (2, "b", 1, 0, topic, True)]
    assert [row[0] for row in batch_env.execute_sql("SELECT word FROM t").collect()] == ["a", "b"]


def test_messages_that_cannot_be_read_are_skipped(
    batch_env: TableEnvironment, topics: Topics
) -> None:
    topic = topics.create()
    topics.send(topic, ['{"id": 1}', "nonsense", '{"id": 3}'])
    options = f"'format' = 'json', 'json.ignore-parse-errors' = 'true', {BOUNDED}"
    declare(batch_env, topics, topic, "id INT", options)
    assert [row[0] for row in batch_env.execute_sql("SELECT id FROM t").collect()] == [1, 3]


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id INT", "'format' = 'jsn'", "'jsn': there is no such value; did you mean 'json'"),
        ("id INT", "'format' = 'json', 'scan.startup.mode' = 'first'", "there are earliest-offset"),
        (
            "id INT",
            "'format' = 'json', 'scan.startup.mode' = 'timestamp'",
            "needs the option 'scan.startup.timestamp-millis'",
        ),
        ("id INT, o BIGINT METADATA", "'format' = 'json'", "no metadata .o.; known are headers"),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, columns: str, options: str, error: str
) -> None:
    t_env.execute_sql(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'kafka', 'topic' = 't', "
        f"'properties.bootstrap.servers' = 'localhost:1', {options})"
    )
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM t")


def test_a_misspelt_name_of_the_required_option_is_seen(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', "
        "'properties.bootstrap.server' = 'localhost:1')"
    )
    with pytest.raises(JobDefinitionError, match="is 'properties.bootstrap.server' a misspelling"):
        t_env.execute_sql("SELECT * FROM t")


@pytest.mark.parametrize("topics_of", ["'topic' = 'a;b'", "'topic-pattern' = 'a.*'"])
def test_a_table_of_several_topics_is_not_written(t_env: TableEnvironment, topics_of: str) -> None:
    t_env.execute_sql(
        f"CREATE TABLE t (id INT) WITH ('connector' = 'kafka', {topics_of}, 'format' = 'json', "
        "'properties.bootstrap.servers' = 'localhost:1')"
    )
    with pytest.raises(JobDefinitionError, match=r"t: it cannot be written, .* one 'topic'"):
        t_env.execute_sql("INSERT INTO t VALUES (1)")
