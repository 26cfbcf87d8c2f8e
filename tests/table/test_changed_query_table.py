"""The table `changed_queries.txt`: which changes of a query keep its state, and which are refused.

By the uids of all plans; a part of them is run, too: a savepoint of the first query either gives
the second what its own would have given, or is refused with the operators that lack state.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import lookup_tables
import pytest
import query_histories
from query_grammar import DIM_COLUMNS

from millrace.common.errors import CheckpointError, JobCancelledError
from millrace.plan.transformation import Role, Transformation
from millrace.planner.relational.sink_nodes import CollectSink
from millrace.table import TableEnvironment
from millrace.table.connectors.registry import register_factory
from millrace.table.udf import udf
from millrace.testing import run_local

STATELESS = {"Calc", "Correlate", "Expand", "LookupJoin", "Union", "WindowTableFunction"}
START = datetime(2024, 1, 1)
ROWS, EPOCHS = 40, 2
TEXTS = ("a", "b", "ab", "1", '{"a":1}')


@dataclass(frozen=True)
class Change:
    """A query, another one, and whether the other one finds the state of the first."""

    first: str
    second: str
    kept: bool
    run: bool


def changes() -> Iterator[Change]:
    first = ""
    for line in Path(__file__).with_name("changed_queries.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        verdict, colon, query = line.partition(": ")
        words = verdict.split()
        if colon and words[0] in ("kept", "refused"):
            yield Change(first, query, words[0] == "kept", words[1:] == ["run"])
        else:
            first = line


CHANGES = list(changes())
RUN = [each for each in CHANGES if each.run]


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(set(CHANGES)) == len(CHANGES) >= 150
    assert len(RUN) >= 50


@pytest.fixture(scope="module", autouse=True)
def tables() -> Iterator[None]:
    register_factory(lookup_tables.LookupFactory())
    rows = [
        (
            number,
            None if number % 7 == 6 else number * step % 3,
            None if number % 5 == 3 else number * 7 % 11 - 3,
            number / 4,
            Decimal(number) / 4,
            None if number % 9 == 8 else TEXTS[number * step % len(TEXTS)],
            number % 3 == 0,
            START + timedelta(seconds=number * 2 + number % 4),
        )
        for step, number in ((step, number) for step in (1, 2) for number in range(ROWS))
    ]
    before = dict(query_histories.TABLES)
    query_histories.TABLES["t"] = query_histories.table_of(rows[:ROWS])
    query_histories.TABLES["u"] = query_histories.table_of(rows[ROWS:])
    lookup_tables.ROWS[:] = [
        dict(zip(DIM_COLUMNS, (k, TEXTS[k], k * 2, Decimal(k), k == 1), strict=True))
        for k in range(3)
    ]
    yield
    query_histories.TABLES.clear()
    query_histories.TABLES.update(before)


def plus_one(value: int | None) -> int | None:
    return None if value is None else value + 1


def plus_two(value: int | None) -> int | None:
    return None if value is None else value + 2


def environment(start_from: str | None = None) -> TableEnvironment:
    t_env = query_histories.environment(True, start_from, 1)
    for name, function in (("f", plus_one), ("g", plus_two)):
        t_env.create_temporary_function(name, udf(function, result_type="BIGINT"))
    return t_env


@cache
def shared_environment() -> TableEnvironment:
    return environment()


@cache
def uids(query: str) -> frozenset[str]:
    """Of the operators of a query that have state."""
    t_env = shared_environment()
    pending: list[Transformation] = t_env._session.transformations(
        [CollectSink(t_env.sql_query(query).node)]
    )
    found = set()
    while pending:
        each = pending.pop()
        pending += [rows.transformation for rows in each.inputs]
        if each.role is not Role.COLLECT and each.name.partition("[")[0] not in STATELESS:
            found.add(each.uid or "")
    return frozenset(found)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: f"{each.first[:60]}: {each.second}")
def test_uids_tell_whether_state_fits(change: Change) -> None:
    assert (uids(change.first) <= uids(change.second)) is change.kept


def applied(query: str, start_from: str | None = None, directory: str | None = None) -> Any:
    """What a query's changes add up to, and the path of the savepoint with which it is stopped."""
    left: query_histories.Result = Counter()
    with run_local(epoch_records=8, epoch_limit=100) as cluster:
        result = environment(start_from).execute_sql(query)
        client: Any = result.get_job_client()
        asked: list[Any] = []

        def act(progress: Any) -> None:
            if directory is not None and progress.epochs == EPOCHS and not asked:
                asked.append(client.stop_with_savepoint(savepoint_directory=directory))

        cluster.listeners.append(act)
        try:
            for row in result.collect():
                left[tuple(row)] += -1 if row.get_row_kind().value in (1, 3) else 1
        except JobCancelledError:
            assert asked
        return left, client.final_savepoint if asked else None


@pytest.fixture(scope="module")
def savepoints(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Of a query in the middle of its tables, with what it has given until then."""
    directory = str(tmp_path_factory.mktemp("savepoints"))

    @cache
    def savepoint(query: str) -> Any:
        return applied(query, directory=os.path.join(directory, f"{len(os.listdir(directory))}"))

    return savepoint


@pytest.mark.parametrize("change", RUN, ids=lambda each: f"{each.first[:60]}: {each.second}")
def test_state_goes_on_or_is_refused(change: Change, savepoints: Any) -> None:
    _, path = savepoints(change.first)
    if not change.kept:
        with pytest.raises(CheckpointError, match="which the job does not have") as caught:
            applied(change.second, path)
        assert "while its keys, columns, expressions and aggregates stay the same" in str(
            caught.value
        )
        return
    before, _ = savepoints(change.second)
    whole, _ = applied(change.second)
    after, _ = applied(change.second, path)
    assert any(after.values())
    before = before.copy()
    before.update(after)
    assert {row: n for row, n in before.items() if n} == {row: n for row, n in whole.items() if n}
