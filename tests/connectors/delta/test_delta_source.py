"""DeltaSource: tables written by the library deltalake, followed version by version."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from millrace.common import Configuration, Row, WatermarkStrategy
from millrace.common.errors import ConfigurationError, JobExecutionError
from millrace.common.functions.metrics import UnregisteredMetricGroup
from millrace.common.source import EnumeratorContext, SplitEnumerator
from millrace.connectors.delta import DeltaSink, DeltaSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

FEED = {"delta.enableChangeDataFeed": "true"}
NO_TIME = WatermarkStrategy.no_watermarks()


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def append(table: str, *ids: int, day: str = "a", **options: Any) -> None:
    rows = pa.table({"id": list(ids), "day": [day] * len(ids)})
    write_deltalake(table, rows, mode="append", **options)


def read(source: DeltaSource, **settings: Any) -> list[tuple[Any, ...]]:
    """What a job reads: kind, id, day."""
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        env.set_parallelism(2)
        rows = env.from_source(source, NO_TIME, "table").map(
            lambda row: (row.get_row_kind().name, row.id, row.day)
        )
        with rows.execute_and_collect() as results:
            return list(results)


def test_all_of_a_table(table: str) -> None:
    """Compacted and not, with partitions, and a column that old files do not have."""
    append(table, 1, 2, partition_by=["day"])
    append(table, 3, day="b/ü")
    DeltaTable(table).optimize.compact()
    write_deltalake(
        table,
        pa.table({"id": [4], "day": ["c"], "more": [1.5]}),
        mode="append",
        schema_mode="merge",
    )
    found = read(DeltaSource(table, bounded=True))
    assert sorted(found) == [
        ("INSERT", 1, "a"),
        ("INSERT", 2, "a"),
        ("INSERT", 3, "b/ü"),
        ("INSERT", 4, "c"),
    ]


def test_from_a_version_on(table: str) -> None:
    for number in range(4):
        append(table, number)
    DeltaTable(table).optimize.compact()
    found = read(DeltaSource(table, starting_version=2, bounded=True))
    assert sorted(row[1] for row in found) == [2, 3]


def test_changes(table: str) -> None:
    """The change data feed gives kinds, in the order of versions."""
    append(table, 1, 2, 3, configuration=FEED)
    delta = DeltaTable(table)
    delta.update(predicate="id = 1", new_values={"day": "b"})
    delta.delete("id = 2")
    delta.optimize.compact()
    append(table, 2, day="c")
    found = read(DeltaSource(table, starting_version=1, bounded=True))
    assert found == [
        ("UPDATE_BEFORE", 1, "a"),
        ("UPDATE_AFTER", 1, "b"),
        ("DELETE", 2, "a"),
        ("INSERT", 2, "c"),
    ]


def test_follows_and_goes_on(table: str, tmp_path: Path) -> None:
    """Runs on what is there: each begins where the last has ended, the first with all there is."""
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "millrace.available-now": True,
    }
    append(table, 1, 2, configuration=FEED)
    runs = []
    changes: list[Callable[[], object]] = [
        lambda: append(table, 3),
        lambda: DeltaTable(table).update(predicate="id = 3", new_values={"day": "b"}),
        lambda: None,
    ]
    for change in changes:
        runs.append(sorted(read(DeltaSource(table), **settings)))
        change()
    assert runs == [
        [("INSERT", 1, "a"), ("INSERT", 2, "a")],
        [("INSERT", 3, "a")],
        [("UPDATE_AFTER", 3, "b"), ("UPDATE_BEFORE", 3, "a")],
    ]


def test_new_versions_while_the_job_runs(table: str) -> None:
    append(table, 1)
    seen: list[int] = []
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        rows = env.from_source(DeltaSource(table, poll_interval=10), NO_TIME, "table")
        results = rows.map(lambda row: row.id).execute_and_collect()
        threading.Timer(0.5, append, (table, 2)).start()
        for value in results:
            seen.append(value)
            if value == 2:
                break
        results.close()
    assert seen == [1, 2]


def test_deletes_without_a_feed(table: str) -> None:
    append(table, 1, 2)
    DeltaTable(table).delete("id = 1")
    with pytest.raises(Exception, match=r"version 1 of .* deletes .*enableChangeDataFeed"):
        read(DeltaSource(table, starting_version=0, bounded=True))


def test_no_table(table: str) -> None:
    with pytest.raises(Exception, match="there is no Delta table at"):
        read(DeltaSource(table, bounded=True))


def started(source: DeltaSource, state: Any = None) -> SplitEnumerator:
    """An enumerator as a run begins with it."""
    enumerator = source.create_enumerator()
    if state is not None:
        enumerator.restore_state(state)
    enumerator.start(
        EnumeratorContext(2, UnregisteredMetricGroup(), logging.getLogger("millrace.source.table"))
    )
    return enumerator


def test_a_table_in_the_place_of_another(table: str) -> None:
    """Its versions are not those after the old one's."""
    append(table, 1)
    append(table, 2)
    running = started(DeltaSource(table))
    assert len(running.discover(0)) == 2
    shutil.rmtree(table)
    append(table, 3)
    with pytest.raises(JobExecutionError, match="dropped and created again"):
        started(DeltaSource(table), running.snapshot_state())
    append(table, 4)
    append(table, 5)
    with pytest.raises(JobExecutionError, match="dropped and created again"):
        running.discover(1)


def test_resumed_while_the_whole_table_is_read(table: str) -> None:
    """A run that ends has yet to look for changes when the last of it has been read."""
    append(table, 1, configuration=FEED)
    [split] = (before := started(DeltaSource(table, bounded=True))).discover(0)
    after = started(DeltaSource(table, bounded=True), before.snapshot_state())
    assert list(after.discover(0)) == []
    after.handle_split_finished(split)
    assert after.next_discovery(0) is not None
    after.discover(1_000)
    assert after.no_more_splits()
    assert after.next_discovery(1_000) is None


def test_values_of_partitions(table: str) -> None:
    """Points in time are in UTC, an empty text is null."""
    when = datetime(2024, 1, 2, 3, 4, 5, 600, UTC)
    days = pa.array([when, None], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": [1, 2], "when": days, "day": ["a", ""]})
    write_deltalake(table, rows, partition_by=["when", "day"])
    for version in (None, 0):
        with run_local():
            env = StreamExecutionEnvironment.get_execution_environment()
            source = DeltaSource(table, starting_version=version, bounded=True)
            with env.from_source(source, NO_TIME, "table").execute_and_collect() as results:
                found = sorted((row.id, row.when, row.day) for row in results)
        assert found == [(1, when, "a"), (2, None, None)]


def test_column_mapping(table: str) -> None:
    append(table, 1)
    log = Path(table, "_delta_log", f"{0:020}.json")
    mapped = '"configuration":{"delta.columnMapping.mode":"name"}'
    log.write_text(log.read_text().replace('"configuration":{}', mapped))
    with pytest.raises(ConfigurationError, match="columnMapping"):
        started(DeltaSource(table))


def test_binary_partitions(table: str) -> None:
    rows = pa.table({"id": [1], "day": pa.array([b"a"], pa.binary())})
    write_deltalake(table, rows, partition_by=["day"])
    with pytest.raises(ConfigurationError, match="binary column 'day'"):
        started(DeltaSource(table))


def test_table_to_table(table: str, tmp_path: Path) -> None:
    """What changes in one table is upserted into another."""
    copy = str(tmp_path / "copy")
    append(table, 1, 2, 3, configuration=FEED)
    DeltaTable(table).delete("id = 2")
    DeltaTable(table).update(predicate="id = 3", new_values={"day": "z"})
    DeltaTable.create(copy, pa.schema([("id", pa.int64()), ("day", pa.string())]))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        source = DeltaSource(table, starting_version=0, bounded=True)
        rows = env.from_source(source, NO_TIME, "table").key_by(lambda row: row.id)
        rows.map(_same).sink_to(DeltaSink(copy, upsert_keys=["id"]))
        env.execute()
    found = DeltaTable(copy).to_pyarrow_table().to_pylist()
    assert sorted(found, key=str) == [{"id": 1, "day": "a"}, {"id": 3, "day": "z"}]


def _same(row: Row) -> Row:
    return row
