"""OVER: functions over any frame in batch mode, and over those that streams have, as DuckDB."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import duckdb
import pytest
from tests.table.resident_cuts import ResidentCut

from millrace.common.errors import MillraceError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

ROWS = 150
COLUMNS = "i, g, v, x, s, ts"
MADE = {
    "g": "CASE WHEN MOD(i, 7) = 6 THEN NULL WHEN MOD(i, 3) = 0 THEN 0 ELSE MOD(i, 4) END",
    "v": "CASE WHEN MOD(i, 5) = 4 THEN NULL ELSE MOD(i * 37, 23) - 7 END",
    "x": "CASE WHEN MOD(i, 6) = 5 THEN NULL ELSE CAST(MOD(i * 17, 29) AS DOUBLE) / 4 END",
    "s": "CASE WHEN MOD(i, 4) = 3 THEN NULL ELSE CAST(MOD(i, 9) AS VARCHAR) END",
    "d": "CASE WHEN MOD(i, 4) > 1 THEN CAST(MOD(i * 31, 1000) / 10.0 AS DECIMAL(9, 2)) END",
}  # fmt: skip
FRAMES = [
    "",
    "ORDER BY v NULLS FIRST",
    "ORDER BY v DESC NULLS LAST, s NULLS FIRST",
    "ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING",
    "ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING",
    "ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ORDER BY i ROWS BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING",
    "ORDER BY i ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "ORDER BY i ROWS BETWEEN 1 FOLLOWING AND 4 FOLLOWING",
    "ORDER BY i RANGE BETWEEN 9 PRECEDING AND 4 FOLLOWING",
    "ORDER BY v NULLS FIRST RANGE BETWEEN 3 PRECEDING AND CURRENT ROW",
    "ORDER BY v DESC NULLS LAST RANGE BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING",
    "ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
]
AGGREGATES = [
    "COUNT(*)", "COUNT(v)", "SUM(v)", "SUM(d)", "MIN(s)", "MAX(v)", "MIN(x)", "AVG(x)",
    "COUNT(DISTINCT s)", "SUM(DISTINCT v)", "COUNT(*) FILTER (WHERE v > 2)",
    "SUM(x) FILTER (WHERE v > 2)",
]  # fmt: skip
NUMBERING = [
    "ROW_NUMBER()", "RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()", "NTILE(4)",
    "NTILE(40)", "LAG(v)", "LEAD(v)", "LAG(s, 2, 'none')", "LEAD(s, 3)", "LEAD(v, 1, -1)",
]  # fmt: skip
IN_STREAMS = [
    "ORDER BY ts",
    "ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ORDER BY ts ROWS BETWEEN 4 PRECEDING AND CURRENT ROW",
    "ORDER BY ts RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND CURRENT ROW",
]


def result(
    query: str, streaming: bool, resident: ResidentCut | None = None
) -> Counter[tuple[Any, ...]]:
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    executor = resident.executor if resident else None
    with run_local(2, 1, epoch_records=20, executor=executor):
        t_env = TableEnvironment.create(mode.build())
        t_env.get_config().set("parallelism.default", "2")
        computed = ", ".join(f"{name} AS {text}" for name, text in MADE.items())
        t_env.execute_sql(
            f"CREATE TABLE t (i BIGINT, {computed}, ts AS CAST(TO_TIMESTAMP_LTZ(i * 1000, 3) AS "
            "TIMESTAMP(3)), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', "
            "'fields.i.kind' = 'sequence', 'fields.i.start' = '1', "
            f"'fields.i.end' = '{ROWS}')"
        )
        found = list(t_env.execute_sql(query).collect())
    return rounded(materialized(iter(found)))


@cache
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    made = ", ".join(f"{text} AS {name}" for name, text in MADE.items())
    connection.execute(
        f"CREATE TABLE t AS SELECT i, {made}, TIMESTAMP '1970-01-01' + INTERVAL 1 SECOND * i AS ts "
        f"FROM range(1, {ROWS + 1}) AS r(i)"
    )
    return connection


def rounded(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(round(value, 9) if isinstance(value, float) else value for value in row)
        for row in rows
    )


def check(query: str, streaming: bool) -> None:
    expected = rounded(duck().execute(query).fetchall())
    assert result(query, streaming) == expected
    if streaming:
        for cut in (ResidentCut(0, 10), ResidentCut(0.0005, 3)):
            assert result(query, streaming, cut) == expected


@pytest.mark.turns(7)
@pytest.mark.parametrize("partition", ["PARTITION BY g", ""], ids=["groups", "all"])
@pytest.mark.parametrize("frame", FRAMES)
def test_aggregates_in_batch_mode(frame: str, partition: str) -> None:
    calls = [f"{call} OVER ({partition} {frame})" for call in AGGREGATES]
    if frame.count("ORDER") and "s NULLS" not in frame and "v" not in frame:
        calls += [f"{call}(x) OVER ({partition} {frame})" for call in ("STDDEV_POP", "VAR_SAMP")]
    check(f"SELECT i, {', '.join(calls)} FROM t", False)


@pytest.mark.turns(7)
@pytest.mark.parametrize("order", ["i", "v NULLS FIRST, i DESC", "g NULLS FIRST, x NULLS LAST, i"])
def test_numbers_of_rows(order: str) -> None:
    for partition in ("PARTITION BY g", ""):
        calls = [f"{call} OVER ({partition} ORDER BY {order})" for call in NUMBERING]
        check(f"SELECT i, {', '.join(calls)} FROM t", False)


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("frame", "same"),
    [
        ("-1 FOLLOWING AND 10 FOLLOWING", "1 PRECEDING AND 10 FOLLOWING"),
        ("-2 PRECEDING AND 5 FOLLOWING", "2 FOLLOWING AND 5 FOLLOWING"),
        ("UNBOUNDED PRECEDING AND -1 FOLLOWING", "UNBOUNDED PRECEDING AND 1 PRECEDING"),
    ],
)
def test_a_negative_distance_goes_the_other_way(frame: str, same: str) -> None:
    query = "SELECT i, SUM(v) OVER (ORDER BY i RANGE BETWEEN {}) AS s FROM t"
    expected = rounded(duck().execute(query.format(same)).fetchall())
    assert result(query.format(frame), False) == expected


@pytest.mark.turns(7)
def test_ranks_of_peers() -> None:
    calls = ["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"]
    over = "OVER (PARTITION BY g ORDER BY v NULLS LAST)"
    check(f"SELECT i, {', '.join(f'{call} {over}' for call in calls)} FROM t", False)


@pytest.mark.turns(7)
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "batch"])
@pytest.mark.parametrize("frame", IN_STREAMS)
def test_frames_of_streams(frame: str, streaming: bool) -> None:
    calls = [*AGGREGATES, "STDDEV_POP(x)", "MAX(x)", "MAX(s)", "MIN(d)", "AVG(v)"]
    for partition in ("PARTITION BY g", ""):
        over = [f"{call} OVER ({partition} {frame})" for call in calls]
        query = f"SELECT i, {', '.join(over)} FROM t"
        wanted = rounded(duck().execute(query).fetchall())
        cut = Counter({(*row[:-1], _cut(row[-1])): n for row, n in wanted.items()})
        assert result(query, streaming) == cut


def _cut(mean: float | None) -> int | None:
    """AVG of integers is an integer."""
    return None if mean is None else int(mean)


@pytest.mark.turns(7)
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "batch"])
@pytest.mark.parametrize("frame", IN_STREAMS)
def test_first_and_last_values_are_not_null(frame: str, streaming: bool) -> None:
    """As in Flink, FIRST_VALUE and LAST_VALUE pass over nulls."""
    over = f"OVER (PARTITION BY g {frame})"
    query = f"SELECT i, FIRST_VALUE(v) {over}, LAST_VALUE(s) {over} FROM t"
    text = query.replace("(v)", "(v IGNORE NULLS)").replace("(s)", "(s IGNORE NULLS)")
    assert result(query, streaming) == rounded(duck().execute(text).fetchall())


@pytest.mark.turns(7)
@pytest.mark.parametrize("call", ["LEAD(v)", "NTILE(2)", "CUME_DIST()", "PERCENT_RANK()"])
def test_what_streams_cannot_number(call: str) -> None:
    with pytest.raises(MillraceError, match="cannot run in stream mode"):
        result(f"SELECT {call} OVER (ORDER BY ts) FROM t", True)


@pytest.mark.turns(7)
def test_a_frame_that_ends_behind_the_row_is_refused_in_streams() -> None:
    with pytest.raises(MillraceError, match="a frame ends with the current row"):
        result(
            "SELECT SUM(v) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t", True
        )


@pytest.mark.turns(7)
def test_a_hot_key_and_the_state_of_before() -> None:
    """What a partition had in epochs before goes on."""
    query = (
        "SELECT i, SUM(i) OVER w, COUNT(v) OVER w, MAX(x) OVER w, SUM(d) OVER w, MIN(v) OVER w "
        "FROM t WINDOW w AS (PARTITION BY MOD(i, 1) ORDER BY ts)"
    )
    check(query, True)


@pytest.mark.turns(7)
def test_numbers_of_rows_by_time() -> None:
    """Among them of rows that are equal in time, and beside aggregates of the same frame."""
    check(
        "SELECT i, RANK() OVER w, DENSE_RANK() OVER w, COUNT(*) OVER w, LAG(v, 1, -1) OVER w, "
        "LAG(s, 3, s) OVER w, ROW_NUMBER() OVER u, LAG(v) OVER u FROM t "
        "WINDOW w AS (PARTITION BY g ORDER BY ts), u AS (ORDER BY ts)",
        True,
    )
    query = (
        "SELECT k, RANK() OVER w, DENSE_RANK() OVER w, COUNT(*) OVER w FROM "
        "(SELECT CAST(k AS INT) AS k, d FROM u) WINDOW w AS (PARTITION BY k ORDER BY d)"
    )
    with run_local(2, 1, epoch_records=20):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.execute_sql(
            "CREATE TABLE u (i BIGINT, k AS MOD(i, 2), d AS CAST(TO_TIMESTAMP_LTZ(i / 7 * 1000, "
            "3) AS TIMESTAMP(3)), WATERMARK FOR d AS d) WITH ('connector' = 'datagen', "
            "'fields.i.kind' = 'sequence', 'fields.i.start' = '0', 'fields.i.end' = '100')"
        )
        found = Counter(tuple(row) for row in t_env.execute_sql(query).collect())
    text = query.replace("FROM u", "FROM (SELECT i % 2 AS k, i // 7 AS d FROM range(101) r(i))")
    assert found == Counter(duck().execute(text).fetchall())


ANY_ORDER = ["", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"]


@pytest.mark.turns(7)
@pytest.mark.parametrize("frame", ANY_ORDER, ids=["range", "rows"])
@pytest.mark.parametrize("column", ["v", "s", "x"])
def test_any_order_in_streams(column: str, frame: str) -> None:
    """Rows that come in between change what the others have."""
    order = f"ORDER BY {column} {frame}"
    rank = f"ORDER BY {column}"
    for partition in ("PARTITION BY g", ""):
        calls = AGGREGATES if not frame else ["COUNT(*)"]
        over = [f"{call} OVER ({partition} {order})" for call in calls]
        over += [f"{call} OVER ({partition} {rank})" for call in ("RANK()", "DENSE_RANK()")]
        query = f"SELECT {'i,' if not frame else ''} {', '.join(over)} FROM t"
        wanted = duck().execute(query.replace(rank, f"{rank} NULLS FIRST")).fetchall()
        assert result(query, True) == rounded(wanted)


@pytest.mark.turns(7)
def test_any_order_over_updates() -> None:
    query = (
        "SELECT g, s, c, ROW_NUMBER() OVER (ORDER BY s), SUM(c) OVER (PARTITION BY MOD(g, 2) "
        "ORDER BY s) FROM (SELECT g, SUM(i) AS s, COUNT(v) AS c FROM t GROUP BY g)"
    )
    check(query, True)


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("over", "reason"),
    [
        ("ORDER BY v DESC", "can only be ordered in ASCENDING mode"),
        ("ORDER BY v, i", "ordered by a single column"),
        ("PARTITION BY v", "ordered by a single column"),
        ("ORDER BY v ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "not supported for bounded OVER"),
        ("ORDER BY v), SUM(i) OVER (ORDER BY ts", "ordered by a time attribute, or none"),
    ],
)
def test_what_streams_refuse_of_any_order(over: str, reason: str) -> None:
    with pytest.raises(MillraceError, match=reason):
        result(f"SELECT SUM(i) OVER ({over}) FROM t", True)
