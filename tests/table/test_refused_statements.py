"""What is refused, word for word: the reason, its place in the statement, and what to do.

`refused_statements.txt` has a statement after ``-- ``, or after ``-- batch: `` one of a batch, and
its error below.
"""

from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment

TABLES = """
CREATE TABLE bid (auction BIGINT, price DECIMAL(10, 2), item STRING, ts TIMESTAMP(3),
  proc AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '4' SECOND)
  WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE late (auction BIGINT, price DECIMAL(10, 2), ts TIMESTAMP(3))
  WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE rates (currency STRING, rate DECIMAL(10, 2), ts TIMESTAMP(3),
  PRIMARY KEY (currency) NOT ENFORCED, WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE orders (id BIGINT, currency STRING, ts TIMESTAMP(3), proc AS PROCTIME(),
  WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
CREATE TABLE misspelt (a INT)
  WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'jsn');
CREATE TABLE topic (a INT) WITH ('connector' = 'kafka', 'topic' = 't',
  'properties.bootstrap.servers' = '127.0.0.1:1', 'value.format' = 'jsn',
  'value.json.ignore-parse-errors' = 'true');
CREATE TABLE files (k STRING, n BIGINT)
  WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json');
CREATE TABLE printed (k STRING, n BIGINT) WITH ('connector' = 'print');
CREATE VIEW counts AS SELECT item AS k, COUNT(*) AS n FROM bid GROUP BY item
"""
EXPECTED = Path(__file__).with_name("refused_statements.txt")


def expected() -> list[tuple[str, str]]:
    blocks = EXPECTED.read_text(encoding="utf-8").strip().split("\n\n")
    return [(head.removeprefix("-- "), error) for head, error in (b.split("\n", 1) for b in blocks)]


@pytest.fixture(scope="module")
def environments() -> dict[bool, TableEnvironment]:
    settings = {
        True: EnvironmentSettings.in_batch_mode(),
        False: EnvironmentSettings.in_streaming_mode(),
    }
    made = {batch: TableEnvironment.create(each) for batch, each in settings.items()}
    for env in made.values():
        for statement in TABLES.split(";"):
            env.execute_sql(statement)
    return made


@pytest.mark.parametrize(("statement", "error"), expected())
def test_refused_statements(
    statement: str, error: str, environments: dict[bool, TableEnvironment]
) -> None:
    batch = statement.startswith("batch: ")
    with pytest.raises(JobDefinitionError) as refused:
        environments[batch].execute_sql(statement.removeprefix("batch: "))
    shown = f"{type(refused.value).__name__}: {refused.value}"
    assert "\n".join(line.rstrip() for line in shown.split("\n")) == error
