"""Correlated queries over small tables, with NULLs and keys that find nothing, against SQLite.

What a query gives where it finds nothing is the law here: an aggregate without GROUP BY has a row
there, whose values its select list is computed from, and HAVING decides whether the row stays.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.errors import MillraceError
from millrace.common.types.row import Row
from millrace.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    TableEnvironment,
)
from millrace.table.table_result import materialized
from millrace.table.udf import udaf
from millrace.testing import run_local

Rows = list[tuple[int | None, ...]]
TABLES: dict[str, tuple[str, ...]] = {"o": ("id", "k", "x"), "t": ("k", "v"), "u": ("k", "w")}
SELECTED = (
    "COUNT(*)",
    "COUNT(*) + 1",
    "COUNT(v) * 2 - COUNT(*)",
    "COALESCE(SUM(v), -5)",
    "SUM(v) + 1",
    "CASE WHEN COUNT(*) = 0 THEN 7 WHEN COUNT(v) = 0 THEN NULL ELSE MIN(v) END",
    "COALESCE(MAX(v), 0) + COUNT(DISTINCT v)",
    "COUNT(*) FILTER (WHERE v > 1)",
    "CASE WHEN SUM(v) IS NULL THEN 'none' ELSE 'some' END",
    "COUNT(*) + o.x",
    "SUM(v + o.x)",
    "COALESCE(SUM(v), o.id)",
    "COUNT(*) + (SELECT MAX(w) FROM u)",
    "SUM((SELECT COUNT(*) FROM u WHERE u.k = t.k))",
)
CONDITIONS = (
    "t.k = o.k",
    "t.k = o.k AND v > 1",
    "t.k = o.k AND v <> o.x",
    "t.k = o.k OR v = o.x",
    "v < o.x",
    "t.k = o.k AND v > (SELECT COUNT(*) FROM u WHERE u.k = t.k)",
    "t.k = o.k AND v >= (SELECT COUNT(*) - 1 FROM u WHERE u.k = o.k)",
    "t.k = o.k AND EXISTS (SELECT 1 FROM u WHERE u.w = t.v)",
    "t.k = o.k AND NOT EXISTS (SELECT 1 FROM u WHERE u.w = t.v AND u.k = o.x)",
    "t.k IS NOT DISTINCT FROM o.k",
)
HAVINGS = (
    "",
    "",
    " HAVING COUNT(*) < 3",
    " HAVING COUNT(*) > 0",
    " HAVING SUM(v) IS NULL OR MIN(v) > 1",
    " HAVING COUNT(*) < o.x",
    " GROUP BY t.k HAVING COUNT(*) < 3",
)
SHAPES = (
    "SELECT id, ({query}) FROM o",
    "SELECT id, ({query}) IS NULL FROM o",
    "SELECT id FROM o WHERE ({query}) = 1",
    "SELECT id FROM o WHERE x >= ({query})",
    "SELECT id FROM o WHERE COALESCE(({query}), 1) = 1",
    "SELECT id FROM o WHERE ({query}) IS NULL OR id > 3",
    "SELECT id FROM o WHERE EXISTS ({query})",
    "SELECT id FROM o WHERE NOT EXISTS ({query})",
    "SELECT id, EXISTS ({query}) FROM o",
    "SELECT id FROM o WHERE x IN ({query})",
    "SELECT id FROM o WHERE 1 NOT IN ({query})",
    "SELECT o.id, p.id FROM o JOIN o AS p ON o.id = p.x AND p.id > ({query})",
    "SELECT k, x, COUNT(*) FROM o WHERE ({query}) IS NOT NULL GROUP BY k, x",
    "SELECT k, x FROM o AS o GROUP BY k, x HAVING COUNT(*) >= ({query})",
    "SELECT id, (SELECT MAX(a) FROM ({named}) AS n) FROM o",
    "SELECT id, (SELECT a + 1 FROM ({named}) AS n WHERE a > 0) FROM o",
)
QUERIES = 16


class Tally(AggregateFunction):
    """How many values there are, with a mark."""

    def create_accumulator(self) -> Row:
        return Row(0)

    def accumulate(self, accumulator: Row, value: int | None) -> None:
        accumulator[0] += 1

    def retract(self, accumulator: Row, value: int | None) -> None:
        accumulator[0] -= 1

    def get_value(self, accumulator: Row) -> str:
        return f"#{accumulator[0]}"


def drawn_tables(rng: random.Random) -> dict[str, Rows]:
    def value(most: int) -> int | None:
        return None if rng.random() < 0.2 else rng.randrange(most)

    return {
        "o": [(number, value(4), value(4)) for number in range(6)],
        "t": [(value(3), value(4)) for _ in range(7)],
        "u": [(value(3), value(4)) for _ in range(5)],
    }


def drawn_query(rng: random.Random) -> str:
    selected, condition, having = map(rng.choice, (SELECTED, CONDITIONS, HAVINGS))
    shape = rng.choice(SHAPES)
    if "GROUP BY" in having and "t.k = o.k AND" not in condition:
        having = ""  # more than one row is an error here, not in SQLite
    if "GROUP BY k, x HAVING" in shape:
        selected = selected.replace("o.id", "o.x")
    if "'none'" in selected and not ("IS NULL" in shape or "EXISTS" in shape):
        selected = "COUNT(*) + 1"
    rows = f"FROM t WHERE {condition}{having}"
    return shape.format(query=f"SELECT {selected} {rows}", named=f"SELECT {selected} AS a {rows}")


def _literal(value: int | None) -> str:
    return "CAST(NULL AS INT)" if value is None else str(value)


def _declare(t_env: TableEnvironment, tables: dict[str, Rows]) -> None:
    t_env.get_config().set("parallelism.default", "2")
    for name, rows in tables.items():
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        t_env.execute_sql(
            f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM (VALUES {values}) "
            f"AS v ({', '.join(TABLES[name])})"
        )
    t_env.create_temporary_function("tally", udaf(Tally(), result_type=DataTypes.STRING()))


def _answers(t_env: TableEnvironment, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, materialized(iter(list(t_env.execute_sql(query).collect())))))


@pytest.fixture(params=["batch", "streaming"])
def settings(request: pytest.FixtureRequest) -> EnvironmentSettings:
    if request.param == "batch":
        return EnvironmentSettings.in_batch_mode()
    return EnvironmentSettings.in_streaming_mode()


@pytest.fixture
def cluster() -> Iterator[None]:
    with run_local(2, 1, epoch_records=2):
        yield


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, 30))]
)
def test_correlated_queries_give_what_sqlite_gives(
    seed: int, settings: EnvironmentSettings, cluster: None
) -> None:
    rng = random.Random(seed)
    tables = drawn_tables(rng)
    database = sqlite3.connect(":memory:")
    for name, rows in tables.items():
        columns = TABLES[name]
        database.execute(f"CREATE TABLE {name} ({', '.join(each + ' INT' for each in columns)})")
        marks = ", ".join("?" for _ in columns)
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    t_env = TableEnvironment.create(settings)
    _declare(t_env, tables)
    for _ in range(QUERIES):
        query = drawn_query(rng)
        expected = Counter(database.execute(query).fetchall())
        assert _answers(t_env, query) == expected, query


@pytest.mark.turns(7)
def test_lateral_queries_give_the_same_rows(settings: EnvironmentSettings, cluster: None) -> None:
    t_env = TableEnvironment.create(settings)
    _declare(t_env, drawn_tables(random.Random(7)))
    for selected in (SELECTED[1], SELECTED[4], SELECTED[5]):
        query = f"SELECT {selected} AS a FROM t WHERE t.k = o.k AND v > 1"
        values = _answers(t_env, f"SELECT id, ({query}) FROM o")
        joined = f"SELECT id, a FROM o LEFT JOIN LATERAL ({query}) AS q ON TRUE"
        assert _answers(t_env, joined) == values, selected
        assert _answers(t_env, joined.replace("LEFT ", "")) == values, selected
        having = joined.replace(") AS q", " HAVING COUNT(*) > 0) AS q").replace("LEFT ", "")
        ids = {row[0] for row in _answers(t_env, having)}
        found = "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM t WHERE t.k = o.k AND v > 1)"
        assert ids == {row[0] for row in _answers(t_env, found)}, selected


def test_accumulators_tell_the_value_of_no_rows(
    settings: EnvironmentSettings, cluster: None
) -> None:
    t_env = TableEnvironment.create(settings)
    tables: dict[str, Rows] = {"o": [(1, 0, 1), (2, 9, 1)], "t": [(0, 4), (0, 5)], "u": [(0, 0)]}
    _declare(t_env, tables)
    selected = {
        "tally(v)": ("#2", "#0"),
        "tally(v) FILTER (WHERE v > 4)": ("#1", "#0"),
        "CARDINALITY(COLLECT(v)) + COUNT(*)": (4, 0),
        "JSON_ARRAYAGG(v + 0 * o.x)": ("[4,5]", "[]"),
        "CHAR_LENGTH(JSON_OBJECTAGG(KEY CAST(v AS STRING) VALUE v))": (13, 2),
    }
    for value, (of_two, of_none) in selected.items():
        query = f"SELECT id, (SELECT {value} FROM t WHERE t.k = o.k) FROM o"
        assert _answers(t_env, query) == Counter([(1, of_two), (2, of_none)]), value


def test_limit_and_order_keep_the_row_of_nothing(
    settings: EnvironmentSettings, cluster: None
) -> None:
    t_env = TableEnvironment.create(settings)
    _declare(t_env, {"o": [(1, 0, 1), (2, 9, 0)], "t": [(0, 4)], "u": [(0, 0)]})
    query = "(SELECT COUNT(*) FROM t WHERE t.k = o.k LIMIT 1)"
    expected = {
        f"EXISTS {query}": {1, 2},
        f"NOT EXISTS {query}": set(),
        f"NOT EXISTS {query.replace('LIMIT 1', 'LIMIT 1 OFFSET 1')}": {1, 2},
        f"{query.replace('LIMIT 1', 'ORDER BY 1')} = x": {1, 2},
        f"NOT EXISTS {query.replace('LIMIT 1', 'ORDER BY 1')}": set(),
        f"x IN {query}": {1, 2},
        "x IN (SELECT k + 1 FROM t WHERE t.k = o.k ORDER BY v)": {1},
        f"x NOT IN {query}": set(),
        f"x + 1 > ALL {query}": {1, 2},
    }
    for condition, ids in expected.items():
        found = _answers(t_env, f"SELECT id FROM o WHERE {condition}")
        assert {row[0] for row in found} == ids, condition


@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ("SELECT v FROM t WHERE t.k = o.k UNION ALL SELECT w FROM u", "UNION"),
        ("SELECT v FROM t WHERE t.k = o.k EXCEPT SELECT w FROM u", "EXCEPT"),
        ("SELECT v FROM t WHERE t.k = o.k OFFSET 1", "OFFSET without LIMIT"),
    ],
)
def test_a_refusal_names_the_clause(query: str, clause: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    _declare(t_env, {"o": [(1, 0, 1)], "t": [(0, 4)], "u": [(0, 0)]})
    with pytest.raises(MillraceError, match=f"cannot have {clause} over rows that depend"):
        t_env.explain_sql(f"SELECT id FROM o WHERE x IN ({query})")


def test_aggregates_of_no_row_at_all(cluster: None) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    _declare(t_env, {"o": [(1, 0, 1)], "t": [(0, 4)], "u": [(0, 0)]})
    query = "SELECT COUNT(*), SUM(v), JSON_ARRAYAGG(v), tally(v), COLLECT(v) FROM t WHERE FALSE"
    rows = [tuple(row) for row in t_env.execute_sql(query).collect()]
    assert rows == [(0, None, "[]", "#0", {})]
