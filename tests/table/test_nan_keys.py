"""NaN as a key of SQL: all NaN are one key, in groups, partitions and joins, as in Flink."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

ROWS = (
    "SELECT i, CASE WHEN MOD(i, 2) = 0 THEN CAST('NaN' AS {kind}) ELSE CAST(1.5 AS {kind}) END "
    "AS x FROM (VALUES 1, 2, 3, 4, 5) AS v(i)"
)
QUERIES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "group": ("SELECT x, COUNT(*) FROM t GROUP BY x", [("NaN", 2), (1.5, 3)]),
    "distinct": ("SELECT DISTINCT x FROM t", [("NaN",), (1.5,)]),
    "count": ("SELECT COUNT(DISTINCT x) FROM t", [(2,)]),
    "sets": ("SELECT x FROM t INTERSECT SELECT x FROM t", [("NaN",), (1.5,)]),
    "two keys": ("SELECT x, MOD(i, 2), MAX(i) FROM t GROUP BY x, MOD(i, 2)", [
        ("NaN", 0, 4), (1.5, 1, 5),
    ]),
    "join": ("SELECT a.i, b.i FROM t AS a JOIN t AS b ON a.x = b.x WHERE a.i < 3 AND b.i < 4", [
        (1, 1), (1, 3), (2, 2),
    ]),
    "join of rows": (
        "SELECT a.i FROM (SELECT i, ROW(x) AS r FROM t) AS a JOIN (SELECT ROW(x) AS r FROM t "
        "WHERE i = 2) AS b ON a.r = b.r",
        [(2,), (4,)],
    ),
    "semi join": ("SELECT i FROM t WHERE x IN (SELECT x FROM t WHERE i = 2)", [(2,), (4,)]),
    "full join": (
        "SELECT a.i, b.i FROM (SELECT * FROM t WHERE i < 3) AS a FULL JOIN "
        "(SELECT * FROM t WHERE i = 4) AS b ON a.x = b.x",
        [(1, None), (2, 4)],
    ),
    "last": (
        "SELECT i FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY x DESC, i) AS n FROM t) WHERE n <= 2",
        [(2,), (4,)],
    ),
    "peers": (
        "SELECT i, RANK() OVER (ORDER BY x) FROM t",
        [(1, 1), (3, 1), (5, 1), (2, 4), (4, 4)],
    ),
    "rank": (
        "SELECT i, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY i DESC) AS n "
        "FROM t) WHERE n = 1",
        [(4, "NaN"), (5, 1.5)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "batch"])
@pytest.mark.parametrize("name", QUERIES)
def test_nan_is_one_key(name: str, streaming: bool, kind: str) -> None:
    query, expected = QUERIES[name]
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    with run_local(2, 1, epoch_records=2):
        t_env = TableEnvironment.create(mode.build())
        t_env.get_config().set("parallelism.default", "2")
        t_env.execute_sql(f"CREATE TEMPORARY VIEW t AS {ROWS.format(kind=kind)}")
        found = materialized(iter(list(t_env.execute_sql(query).collect())))
    assert Counter(tuple(map(shown, row)) for row in found) == Counter(expected)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("places", ["2, 3, 1", "1, 2, 3", "3, 1, 2"])
def test_extremes_with_nan_do_not_depend_on_the_order(places: str) -> None:
    values = ", ".join(f"({place})" for place in places.split(", "))
    with run_local(epoch_records=2):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        query = (
            "SELECT MIN(x), MAX(x) FROM (SELECT CASE WHEN i = 2 THEN CAST('NaN' AS DOUBLE) ELSE "
            f"CAST(i AS DOUBLE) END AS x FROM (VALUES {values}) AS v(i))"
        )
        [row] = materialized(t_env.execute_sql(query).collect())
    assert tuple(map(shown, row)) == ("NaN", "NaN")


def shown(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
