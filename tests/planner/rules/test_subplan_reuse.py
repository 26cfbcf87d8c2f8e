"""Equal parts of the queries of a job run once, and their results are the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

GROUPED = "SELECT k, SUM(v) AS n FROM t GROUP BY k"
SELF_JOIN = f"SELECT a.k, a.n, b.n AS m FROM ({GROUPED}) a JOIN ({GROUPED}) b ON a.k = b.k"


def environment(streaming: bool = True, **options: str) -> TableEnvironment:
    settings = EnvironmentSettings
    mode = settings.in_streaming_mode() if streaming else settings.in_batch_mode()
    t_env = TableEnvironment.create(mode)
    for name, value in options.items():
        t_env.get_config().set(f"table.optimizer.reuse-{name.replace('_', '-')}-enabled", value)
    sequences = "".join(
        f", 'fields.{field}.kind' = 'sequence', 'fields.{field}.start' = '0', "
        f"'fields.{field}.end' = '999'"
        for field in ("i", "v")
    )
    t_env.execute_sql(
        "CREATE TABLE t (i BIGINT, v BIGINT, k AS MOD(i, 7)) WITH ('connector' = 'datagen', "
        f"'rows-per-second' = '1000000000'{sequences})"
    )
    t_env.execute_sql("CREATE TABLE plain (i BIGINT, v BIGINT) WITH ('connector' = 'datagen')")
    return t_env


def plan(query: str, **options: str) -> str:
    return environment(**options).explain_sql(query).split("== Optimized Execution Plan ==")[1]


def test_who_is_read_twice_runs_once() -> None:
    shown = plan(SELF_JOIN)
    assert shown.count("GroupAggregate(") == shown.count("TableSourceScan(") == 1
    assert shown.count("(reuse_id=[1])") == shown.count("Reused(reference_id=[1])") == 1


def test_it_can_be_switched_off() -> None:
    shown = plan(SELF_JOIN, sub_plan="false")
    assert shown.count("GroupAggregate(") == shown.count("TableSourceScan(") == 2
    assert "reuse" not in shown.lower()


def test_sources_alone_can_be_left_apart() -> None:
    by_number = "SELECT i, MAX(v) AS n FROM plain GROUP BY i"
    query = f"{by_number} UNION ALL {by_number.replace('MAX', 'MIN')}"
    assert plan(query).count("TableSourceScan(") == 1
    assert plan(query, source="false").count("TableSourceScan(") == 2
    shown = plan(SELF_JOIN, source="false")
    assert shown.count("GroupAggregate(") == 1


@pytest.mark.parametrize(
    "other",
    [
        GROUPED.replace("GROUP BY", "WHERE v > 3 GROUP BY"),
        GROUPED.replace("SUM(v)", "COUNT(DISTINCT v)"),
        GROUPED.replace("SUM(v)", "SUM(v + 1)"),
    ],
)
def test_what_differs_stays_apart(other: str) -> None:
    shown = plan(f"SELECT a.k, a.n, b.n AS m FROM ({GROUPED}) a JOIN ({other}) b ON a.k = b.k")
    assert shown.count("GroupAggregate(") == 2


def test_what_is_not_deterministic_stays_apart() -> None:
    random = "SELECT MOD(i, 3) AS k, RAND() AS r FROM t"
    shown = plan(f"SELECT a.r, b.r AS s FROM ({random}) a JOIN ({random}) b ON a.k = b.k")
    assert shown.count("RAND()") == 2
    assert shown.count("TableSourceScan(") == 1


def test_two_inserts_into_a_table_are_two() -> None:
    t_env = environment()
    t_env.execute_sql("CREATE TABLE seen (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole')")
    statements = t_env.create_statement_set()
    for _ in range(2):
        statements.add_insert_sql("INSERT INTO seen SELECT k, n FROM (" + GROUPED + ")")
    shown = statements.explain().split("== Optimized Execution Plan ==")[1]
    assert shown.count("Sink(table=") == 2
    assert shown.count("GroupAggregate(") == 1


def results(query: str, streaming: bool, parallelism: str, **options: str) -> Counter[Any]:
    with run_local(2, 1, epoch_records=100, epoch_limit=200):
        t_env = environment(streaming, **options)
        t_env.get_config().set("parallelism.default", parallelism)
        found: Counter[Any] = Counter()
        for row in t_env.execute_sql(query).collect():
            found[tuple(row)] += -1 if row.get_row_kind().value in (1, 3) else 1
    return +found


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "batch"])
@pytest.mark.parametrize(
    "query",
    [
        SELF_JOIN,
        f"{GROUPED} UNION ALL {GROUPED}",
        # one reader needs -U rows, the other one does not
        f"SELECT a.k, b.c FROM ({GROUPED}) a LEFT JOIN "
        f"(SELECT n, COUNT(*) AS c FROM ({GROUPED}) GROUP BY n) b ON a.n = b.n",
        "SELECT a.i, b.i FROM t a JOIN t b ON a.i = b.v + 1 WHERE a.k = 2",
    ],
    ids=["join", "union", "modes", "scan"],
)
def test_results_are_the_same(query: str, streaming: bool) -> None:
    expected = results(query, streaming, "1", sub_plan="false")
    assert expected
    assert results(query, streaming, "1") == expected
    assert results(query, streaming, "3") == expected
