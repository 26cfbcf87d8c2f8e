"""The law of tables that are written by key and at least once: whatever an epoch has written that
was lost, the table has the result of the query after the repeat, which reads other batches."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from query_grammar import DIM_ROWS, ROWS, flink_text, queries
from query_histories import TABLES, add_changes, table_of
from query_histories import environment as tables_of_histories
from tests.table import lookup_tables, written_by_key
from tests.table.resident_cuts import RESIDENT_CUTS, ResidentCut
from tests.table.written_by_key import CHANGES, WRITTEN, Death

from millrace.common.errors import MillraceError
from millrace.common.types.row import RowKind
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.connectors.registry import register_factory
from millrace.testing import run_local

QUERIES = {
    "rows": "SELECT id, v FROM t",
    "filter": "SELECT id, v FROM t WHERE v > '3'",
    "group": "SELECT k, CAST(SUM(CAST(v AS INT)) AS STRING) FROM t GROUP BY k",
    "group of rows that pass": "SELECT k, CAST(COUNT(*) AS STRING) FROM t WHERE v > '3' GROUP BY k",
    "having": "SELECT k, MAX(v) FROM t GROUP BY k HAVING COUNT(*) < 3",
    "distinct": "SELECT DISTINCT k, k FROM t",
    "group of groups": "SELECT m, CAST(COUNT(*) AS STRING) FROM (SELECT k, MAX(v) AS m FROM t "
    "GROUP BY k) GROUP BY m",
    "coarser groups": "SELECT k, CAST(SUM(n) AS STRING) FROM (SELECT k, v, COUNT(*) AS n FROM t "
    "GROUP BY k, v) GROUP BY k",
    "top": "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n "
    "FROM t) WHERE n <= 2",
    "ranks": "SELECT k || CAST(n AS STRING), id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k "
    "ORDER BY v, id) AS n FROM t) WHERE n <= 2",
    "first": "SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n "
    "FROM t) WHERE n = 1",
    "limit": "SELECT id, v FROM t ORDER BY v, id LIMIT 2",
    "over": "SELECT id, CAST(SUM(CAST(v AS INT)) OVER (PARTITION BY k ORDER BY id) AS STRING) "
    "FROM t",
    "join": "SELECT t.id || u.id, t.v || u.v FROM t JOIN u ON t.k = u.k",
    "left join": "SELECT t.id || COALESCE(u.id, ''), u.v FROM t LEFT JOIN u ON t.k = u.k",
    "join of groups": "SELECT a.k, b.m FROM (SELECT k, MAX(v) AS m FROM t GROUP BY k) a JOIN "
    "(SELECT k, MAX(v) AS m FROM u GROUP BY k) b ON a.k = b.k",
    "in": "SELECT id, v FROM t WHERE k IN (SELECT k FROM u)",
    "not in": "SELECT id, v FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "union": "SELECT k, k FROM t UNION SELECT k, k FROM u",
    "intersect": "SELECT k, k FROM t INTERSECT SELECT k, k FROM u",
    "except": "SELECT k, k FROM t EXCEPT SELECT k, k FROM u",
    "union all of groups": "SELECT 't' || k, MAX(v) FROM t GROUP BY k UNION ALL SELECT 'u' || k, "
    "MIN(v) FROM u GROUP BY k",
    "latest of a key": "SELECT k, v FROM t",
}
WRITES_AT_ONCE = False
"""True shows that the laws can fail: each query that needs a write-ahead log breaks them then."""
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Runs are too long to be made smaller."""
CHECKS = list(HealthCheck)
AMBIGUOUS = {"latest of a key"}
"""Queries with several rows per key, of which any may be the last one."""
DECLARED = "id STRING NOT NULL, k STRING NOT NULL, v STRING NOT NULL"


@dataclass(frozen=True)
class Run:
    """How a run is cut, and how many rows it writes before it dies."""

    epoch_records: int | None
    parallelism: int
    seed: int
    resident: ResidentCut | None
    writes: int


RUNS = st.builds(
    Run,
    st.sampled_from([1, 3, 10, None]),
    st.integers(1, 2),
    st.integers(0, 9),
    st.none() | RESIDENT_CUTS,
    st.integers(0, 40),
)


def random_changes(seed: int, count: int) -> list[tuple[RowKind, tuple[Any, ...]]]:
    """Changes of rows, most of which soon go or change."""
    chance = random.Random(seed)
    held: dict[str, tuple[str, str, str]] = {}
    changes: list[tuple[RowKind, tuple[Any, ...]]] = []
    for number in range(count):
        chosen = chance.choice(sorted(held)) if held else ""
        row = chosen or f"{number:02}", chance.choice("abc"), str(chance.randrange(9))
        if held and chance.random() < 0.45:
            changes.append((RowKind.DELETE, held.pop(chosen)))
        elif held and chance.random() < 0.3:
            changes.append((RowKind.UPDATE_BEFORE, held[chosen]))
            changes.append((RowKind.UPDATE_AFTER, row))
            held[chosen] = row
        else:
            row = f"{number:02}", *row[1:]
            changes.append((RowKind.INSERT, row))
            held[row[0]] = row
    return changes


@pytest.fixture(autouse=True)
def connectors() -> Iterator[None]:
    written_by_key.register()
    register_factory(lookup_tables.LookupFactory())
    yield
    Death.left = None


def run(make: Any, select: str, how: Run, directory: str, resume: bool) -> bool:
    """Run an INSERT. False if the run died."""
    Death.left, Death.struck = None if resume else how.writes, False
    with run_local(
        2,
        how.seed,
        epoch_records=how.epoch_records,
        checkpoint_dir=directory,
        resume=resume,
        epoch_limit=600,
        executor=how.resident.executor if how.resident else None,
    ):
        t_env = make(how.parallelism)
        t_env.execute_sql(WRITTEN)
        if WRITES_AT_ONCE:
            t_env.get_config().set("table.exec.sink.write-ahead", "NONE")
        if resume:
            t_env.execute_sql(f"INSERT INTO written {select}").wait()
            return True
        with suppress(MillraceError):
            t_env.execute_sql(f"INSERT INTO written {select}").wait()
    return not Death.struck


def written(make: Any, select: str, lost: Run, repeat: Run) -> dict[str, str | None]:
    """Rows that stay, if a run dies, and another one goes on from its last checkpoint."""
    written_by_key.ROWS.clear()
    with tempfile.TemporaryDirectory() as directory:
        if not run(make, select, lost, directory, False):
            run(make, select, repeat, directory, True)
    return dict(written_by_key.ROWS)


def changing_tables(parallelism: int = 1) -> TableEnvironment:
    settings = EnvironmentSettings.new_instance().in_streaming_mode().build()
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", str(parallelism))
    for name in CHANGES:
        t_env.execute_sql(f"CREATE TABLE {name} ({DECLARED}) WITH ('connector' = 'changing')")
    return t_env


def result(select: str) -> dict[str, str | None]:
    """Rows that a query leaves without failures, in one epoch."""
    left: Counter[tuple[Any, ...]] = Counter()
    with run_local():
        add_changes(left, changing_tables().execute_sql(select).collect())
    return dict(left.elements())


@settings(
    max_examples=14, deadline=None, derandomize=True, phases=PHASES, suppress_health_check=CHECKS
)
@given(name=st.sampled_from(list(QUERIES)), seed=st.integers(0, 10**6), lost=RUNS, repeat=RUNS)
def test_a_lost_epoch_leaves_no_row(name: str, seed: int, lost: Run, repeat: Run) -> None:
    assert_nothing_is_left(name, seed, lost, repeat)


@pytest.mark.torture
@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=200, deadline=None, phases=PHASES, suppress_health_check=CHECKS)
@given(seed=st.integers(0, 10**6), lost=RUNS, repeat=RUNS)
def test_many_lost_epochs_leave_no_row(name: str, seed: int, lost: Run, repeat: Run) -> None:
    assert_nothing_is_left(name, seed, lost, repeat)


def assert_nothing_is_left(name: str, seed: int, lost: Run, repeat: Run) -> None:
    CHANGES.update(t=random_changes(seed, 20), u=random_changes(seed + 1, 12))
    expected, found = result(QUERIES[name]), written(changing_tables, QUERIES[name], lost, repeat)
    if name in AMBIGUOUS:
        assert found.keys() == expected.keys()
    else:
        assert found == expected


def test_a_row_that_moves_to_another_group_of_a_top_n_stays() -> None:
    """It is deleted in one subtask, and comes in another one, in any order."""
    chance, held = random.Random(1), dict[str, tuple[str, str, str]]()
    changes: list[tuple[RowKind, tuple[Any, ...]]] = []
    for number in range(30):
        row = str(number % 4), chance.choice("abcdefgh"), str(number)
        if row[0] in held:
            changes.append((RowKind.UPDATE_BEFORE, held[row[0]]))
        changes.append((RowKind.UPDATE_AFTER if row[0] in held else RowKind.INSERT, row))
        held[row[0]] = row
    CHANGES.update(t=changes)
    written_by_key.ROWS.clear()
    with run_local(2, 1, epoch_records=7):
        t_env = changing_tables(2)
        t_env.execute_sql("DROP TABLE t")
        declared = f"{DECLARED}, PRIMARY KEY (id) NOT ENFORCED"
        t_env.execute_sql(f"CREATE TABLE t ({declared}) WITH ('connector' = 'changing')")
        t_env.execute_sql(WRITTEN)
        t_env.execute_sql(f"INSERT INTO written {QUERIES['top'].replace('<= 2', '<= 4')}").wait()
    assert {id: v for id, _, v in held.values()} == written_by_key.ROWS


# -- random queries ----------------------------------------------------------------------


def assert_random_query(
    query: str, t: list[Any], u: list[Any], dim: list[Any], lost: Run, repeat: Run
) -> None:
    """A row's key is the whole row, so every value of it must come again."""
    TABLES.update(t=table_of(t), u=table_of(u))
    names = ("k", "s", "v", "d", "b")
    lookup_tables.ROWS[:] = [dict(zip(names, row, strict=True)) for row in dim]
    text = flink_text(query)
    with run_local():
        batch = tables_of_histories(False, None, 1)
        columns = batch.sql_query(text).get_schema().get_field_names()
        shown = " || '|' || ".join(f"COALESCE(CAST(`{c}` AS STRING), '-')" for c in columns)
        select = f"SELECT {shown} AS r, 'x' AS x FROM ({text})"
        expected = {row[0]: row[1] for row in batch.execute_sql(select).collect()}

    def make(parallelism: int) -> TableEnvironment:
        return tables_of_histories(True, None, parallelism)

    assert written(make, select, lost, repeat) == expected


@settings(
    max_examples=6, deadline=None, derandomize=True, phases=PHASES, suppress_health_check=CHECKS
)
@given(query=queries(), t=ROWS, u=ROWS, dim=DIM_ROWS, lost=RUNS, repeat=RUNS)
def test_a_lost_epoch_of_a_random_query_leaves_no_row(
    query: str, t: list[Any], u: list[Any], dim: list[Any], lost: Run, repeat: Run
) -> None:
    assert_random_query(query, t, u, dim, lost, repeat)


@pytest.mark.torture
@settings(max_examples=1_000, deadline=None, phases=PHASES, suppress_health_check=CHECKS)
@given(query=queries(), t=ROWS, u=ROWS, dim=DIM_ROWS, lost=RUNS, repeat=RUNS)
def test_many_lost_epochs_of_random_queries_leave_no_row(
    query: str, t: list[Any], u: list[Any], dim: list[Any], lost: Run, repeat: Run
) -> None:
    assert_random_query(query, t, u, dim, lost, repeat)
