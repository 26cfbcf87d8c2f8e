"""OVER, ORDER BY and deduplication by event time, as queries."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

TABLE = """
    CREATE TABLE e (i BIGINT, k AS MOD(i, 2), ts AS TO_TIMESTAMP_LTZ(i * 1000, 3),
      WATERMARK FOR ts AS ts)
    WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '1',
      'fields.i.end' = '12')
"""


def result(query: str, streaming: bool = True) -> list[tuple[object, ...]]:
    mode = EnvironmentSettings.in_streaming_mode if streaming else EnvironmentSettings.in_batch_mode
    with run_local(epoch_records=5 if streaming else None):
        t_env = TableEnvironment.create(mode())
        t_env.execute_sql(TABLE)
        return [tuple(row) for row in materialized(iter(t_env.execute_sql(query).collect()))]


@pytest.mark.parametrize("streaming", [True, False])
def test_frames_by_rows_and_by_time(streaming: bool) -> None:
    rows = result(
        "SELECT i, SUM(i) OVER (PARTITION BY k ORDER BY ts) AS s, SUM(i) OVER (PARTITION BY k "
        "ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS r, COUNT(*) OVER (ORDER BY ts "
        "RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW) AS c FROM e",
        streaming,
    )
    expected = [
        (i, sum(range(2 - i % 2, i + 1, 2)), i + max(i - 2, 0), min(i, 4)) for i in range(1, 13)
    ]
    assert sorted(rows) == expected  # type: ignore[type-var]


def test_a_stream_in_the_order_of_its_time() -> None:
    assert result("SELECT i FROM e ORDER BY ts") == [(i,) for i in range(1, 13)]


@pytest.mark.parametrize(("order", "kept"), [("ASC", [(1,), (2,)]), ("DESC", [(11,), (12,)])])
def test_the_first_and_the_last_row(order: str, kept: list[tuple[int]]) -> None:
    rows = result(
        "SELECT i FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts "
        f"{order}) AS n FROM e) WHERE n = 1"
    )
    assert sorted(rows) == kept  # type: ignore[type-var]


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(JobDefinitionError, match="LEAD OVER cannot run in stream mode"):
        result("SELECT LEAD(i) OVER (ORDER BY ts) AS l FROM e")


@pytest.mark.parametrize("streaming", [True, False])
def test_values_of_rows_before(streaming: bool) -> None:
    rows = result(
        "SELECT i, LAG(i) OVER w AS a, COUNT(*) OVER w AS c, LAG(i, 2) OVER w AS b FROM e WINDOW w "
        "AS (PARTITION BY k ORDER BY ts)",
        streaming,
    )
    expected = [
        (i, i - 2 if i > 2 else None, (i + 1) // 2, i - 4 if i > 4 else None) for i in range(1, 13)
    ]
    assert sorted(rows, key=lambda row: str(row[0]).zfill(2)) == expected
