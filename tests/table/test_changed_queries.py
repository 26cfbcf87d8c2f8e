"""A query that was changed, on the savepoint of the former one: what does not depend on the change
keeps its state, and what does is named."""

from __future__ import annotations

import dataclasses
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config import options
from millrace.common.errors import CheckpointError, JobCancelledError
from millrace.state.checkpoint.manifest import Manifest
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

ROWS = 20_000
GROUPED = "SELECT MOD(t.k, 10) AS g, COUNT(*) AS n, SUM(u.w) AS s FROM t JOIN u ON t.k = u.k "
QUERY = GROUPED + "GROUP BY MOD(t.k, 10)"


def environment(settings: dict[str, str]) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    for name, other in (("t", "v"), ("u", "w")):
        sequences = "".join(
            f", 'fields.{field}.kind' = 'sequence', 'fields.{field}.start' = '0', "
            f"'fields.{field}.end' = '{ROWS - 1}'"
            for field in ("k", other)
        )
        t_env.execute_sql(
            f"CREATE TABLE {name} (k BIGINT, {other} BIGINT) WITH ('connector' = 'datagen', "
            f"'rows-per-second' = '1000000000'{sequences})"
        )
    return t_env


def run(
    query: str, table: dict[Any, Any], start_from: str = "", directory: Path | None = None
) -> str:
    """Apply a query's changes to a table, by their first column. With ``directory`` it is stopped
    with a savepoint, whose path is returned."""
    settings = {options.START_FROM.key: start_from} if start_from else {}
    with run_local(epoch_records=500, epoch_limit=500) as cluster:
        started: Future[Any] = Future()
        asked: list[Any] = []

        def act(progress: Any) -> None:
            if directory is not None and progress.records > ROWS / 2 and not asked:
                asked.append(
                    started.result(60).stop_with_savepoint(savepoint_directory=str(directory))
                )

        cluster.listeners.append(act)
        result = environment(settings).execute_sql(query)
        client: Any = result.get_job_client()
        started.set_result(client)
        try:
            for row in result.collect():
                if row.get_row_kind().value in (0, 2):
                    table[row[0]] = tuple(row)[1:]
                else:
                    del table[row[0]]
        except JobCancelledError:
            assert asked
        return client.final_savepoint if asked else ""


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[Any, Any]]:
    """Savepoint of the query in the middle of its tables, with its result until then."""
    table: dict[Any, Any] = {}
    return run(QUERY, table, directory=tmp_path_factory.mktemp("savepoints")), table


def test_the_savepoint_is_in_the_middle(savepoint: tuple[str, dict[Any, Any]]) -> None:
    assert 0 < sum(n for n, _ in savepoint[1].values()) < ROWS


@pytest.mark.parametrize(
    "query",
    [
        QUERY,
        GROUPED.replace(" AS n", " AS m") + "GROUP BY MOD(t.k, 10)",
        QUERY + " HAVING COUNT(*) > 3",
        GROUPED + "WHERE u.w >= 0 GROUP BY MOD(t.k, 10)",
    ],
    ids=["the same", "other names", "HAVING", "a filter below"],
)
def test_what_keeps_all_state(query: str, savepoint: tuple[str, dict[Any, Any]]) -> None:
    path, before = savepoint
    table = dict(before)
    run(query, table, path)
    assert {g: n for g, (n, _) in table.items()} == dict.fromkeys(range(10), ROWS // 10)


def test_a_savepoint_of_former_uids_says_so(
    savepoint: tuple[str, dict[Any, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "old"
    shutil.copytree(savepoint[0], path)
    manifest = Manifest.decode((path / "_metadata").read_bytes(), path)
    (path / "_metadata").write_bytes(dataclasses.replace(manifest, query_uids=1).encode())
    with pytest.raises(CheckpointError, match="has state of 'GroupAggregate") as caught:
        run(QUERY.replace("SUM", "MAX"), {}, str(path))
    message = str(caught.value)
    assert "an earlier version of Millrace" in message
    assert "(query_uids 1; here 2)" in message
    assert "--allow-non-restored-state" in message
    assert "change_operator_identifier" in message
    run(QUERY, dict(savepoint[1]), str(path))  # what is found goes on


@pytest.mark.parametrize(
    ("query", "gone", "kept"),
    [
        (QUERY.replace("10", "20"), {"GroupAggregate"}, {"Join", "t", "u"}),
        (QUERY.replace("SUM", "MAX"), {"GroupAggregate"}, {"Join", "t", "u"}),
        (QUERY.replace("SUM(u.w)", "SUM(u.w + t.v)"), {"GroupAggregate", "Join"}, {"t", "u"}),
        (QUERY.replace("FROM t", "FROM (SELECT v AS k, k AS v FROM t) AS t"),
         {"GroupAggregate", "Join"}, {"t", "u"}),
    ],
    ids=["another key", "another aggregate", "another column", "columns change places"],
)  # fmt: skip
def test_what_loses_state_is_named(
    query: str, gone: set[str], kept: set[str], savepoint: tuple[str, dict[Any, Any]]
) -> None:
    with pytest.raises(CheckpointError, match="which the job does not have") as caught:
        run(query, {}, savepoint[0])
    lost, rest = str(caught.value).split("the job has the operators of other state:")
    found, empty = rest.split("it has no state of")
    for name in gone:
        assert f"'{name}[" in lost
        assert f"'{name}[" in empty
    for name in kept:
        assert f"'{name}[" in found
