"""IcebergSink and IcebergSource: a catalog in SQLite, tables that pyiceberg reads and writes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException

from millrace.common import Configuration, Row, RowKind, Types, WatermarkStrategy
from millrace.common.errors import ConfigurationError, JobDefinitionError, SerializationError
from millrace.common.sink import (
    CommitRequest,
    CommitState,
    CommitterContext,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors.iceberg import IcebergSink, IcebergSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

ROWS = Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.STRING()])
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])
NO_TIME = WatermarkStrategy.no_watermarks()
TABLE = "shop.orders"


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "warehouse").mkdir()
    return {
        "name": "tests",
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/warehouse",
    }


@pytest.fixture
def catalog(properties: dict[str, str]) -> Catalog:
    made = opened(properties)
    made.create_namespace("shop")
    return made


def opened(properties: dict[str, str]) -> Catalog:
    return load_catalog(**properties)


def append(catalog: Catalog, *ids: int, day: str = "a") -> None:
    rows = pa.table({"id": list(ids), "day": [day] * len(ids)}, schema=SCHEMA)
    catalog.load_table(TABLE).append(rows)


def rows_of(properties: dict[str, str]) -> list[tuple[Any, ...]]:
    found = opened(properties).load_table(TABLE).scan().to_arrow().to_pylist()
    return sorted((row["id"], row["day"]) for row in found)


def written(
    sink: IcebergSink, directory: Path, rows: Sequence[Any], epoch: int = 1, run_id: str = "run"
) -> list[CommitRequest[Any]]:
    """What a checkpoint has of one epoch; the writer is in another process."""
    attempt = f"{run_id}-{epoch}-0-7-0-0"
    context = WriterContext(0, 1, run_id, str(directory / "job"))
    writer = pickle.loads(pickle.dumps(sink)).create_writer(context, None)
    writer.begin_epoch(WriterEpoch(epoch, attempt, 0))
    if rows:
        writer.write_columns(RowBatch(list(rows)).to_columns("row"))
    requests = [CommitRequest(item) for item in writer.prepare_commit(False)]
    writer.close()
    return requests


def run(sink: IcebergSink, records: Sequence[Any], **settings: Any) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        env.set_parallelism(2)
        env.from_collection(records).key_by(lambda r: r[0]).map(lambda r: r).sink_to(sink)
        env.execute()


def read(source: IcebergSource, **settings: Any) -> list[tuple[int, str]]:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        env.set_parallelism(2)
        rows = env.from_source(source, NO_TIME, "table").map(lambda row: (row.id, row.day))
        with rows.execute_and_collect() as results:
            return sorted(results)


def test_appends(properties: dict[str, str]) -> None:
    """A job makes the table, partitioned, with one snapshot per checkpoint."""
    records = [(number, f"d {number % 3}") for number in range(60)]
    run(IcebergSink(TABLE, properties, ROWS, partition_by=["day"]), records)
    assert rows_of(properties) == records
    table = opened(properties).load_table(TABLE)
    assert len(table.snapshots()) == 1
    assert len({str(task.file.partition) for task in table.scan().plan_files()}) == 3


def test_repeated_commits_are_recognised(properties: dict[str, str], tmp_path: Path) -> None:
    sink = IcebergSink(TABLE, properties, ROWS)
    committer = sink.create_committer(CommitterContext())
    requests = written(sink, tmp_path, [(1, "a")], 1) + written(sink, tmp_path, [(2, "b")], 2)
    committer.commit(requests)
    again = [CommitRequest(request.committable) for request in requests]
    sink.create_committer(CommitterContext()).commit(again)
    assert [request.state for request in again] == [CommitState.ALREADY_COMMITTED] * 2
    assert rows_of(properties) == [(1, "a"), (2, "b")]
    committer.commit(written(sink, tmp_path, [(3, "c")], 3))
    committer.commit(written(sink, tmp_path, [(4, "d")], 2, run_id="fork"))
    assert rows_of(properties) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    summary = opened(properties).load_table(TABLE).current_snapshot().summary
    assert summary["millrace.checkpoint-id"] == "2"


@pytest.mark.parametrize("keys", [None, ["id"]])
def test_two_drivers_commit_the_same(
    properties: dict[str, str],
    tmp_path: Path,
    keys: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another commits between our look and our commit: what lost is tried again, and recognised."""
    sink = IcebergSink(TABLE, properties, ROWS, upsert_keys=keys)
    slow, other = (sink.create_committer(CommitterContext()) for _ in range(2))
    requests = written(sink, tmp_path, [(1, "a")])
    change = slow._change

    def overtaken(*arguments: Any) -> None:
        change(*arguments)
        monkeypatch.undo()
        other.commit([CommitRequest(request.committable) for request in requests])

    monkeypatch.setattr(slow, "_change", overtaken)
    with pytest.raises(CommitFailedException):
        slow.commit(requests)
    slow.commit(requests)
    assert rows_of(properties) == [(1, "a")]
    assert [request.state for request in requests] == [CommitState.ALREADY_COMMITTED]
    assert "commit.retry.num-retries" not in opened(properties).load_table(TABLE).properties


@pytest.mark.parametrize("keys", [["id"], ["id", "more"]])
def test_upserts(properties: dict[str, str], tmp_path: Path, keys: list[str]) -> None:
    names = ["id", "day", "more"]
    rows = Types.ROW_NAMED(names, [Types.LONG(), Types.STRING(), Types.LONG()])
    sink = IcebergSink(TABLE, properties, rows, upsert_keys=keys)
    committer = sink.create_committer(CommitterContext())

    def change(kind: RowKind, number: int, day: str) -> Row:
        row = Row.of_kind(kind, number, day, -number)
        row.set_field_names(names)
        return row

    first = [change(RowKind.INSERT, n, "a") for n in (1, 2, 3, 4)]
    committer.commit(written(sink, tmp_path, first, 1))
    second = [
        change(RowKind.UPDATE_BEFORE, 1, "a"),
        change(RowKind.UPDATE_AFTER, 1, "b"),
        change(RowKind.DELETE, 2, "a"),
        change(RowKind.DELETE, 3, "a"),
        change(RowKind.INSERT, 3, "c"),
        change(RowKind.DELETE, 9, "never there"),
        change(RowKind.INSERT, 5, "e"),
    ]
    requests = written(sink, tmp_path, second, 2)
    committer.commit(requests)
    expected = [(1, "b"), (3, "c"), (4, "a"), (5, "e")]
    assert rows_of(properties) == expected
    committer.commit([CommitRequest(request.committable) for request in requests])
    assert rows_of(properties) == expected
    only_deletes = [change(RowKind.DELETE, n, "") for n in (1, 3)]
    committer.commit(written(sink, tmp_path, only_deletes, 3))
    assert rows_of(properties) == [(4, "a"), (5, "e")]


def test_follows_and_goes_on(properties: dict[str, str], catalog: Catalog, tmp_path: Path) -> None:
    """Runs on what is there: each begins where the last has ended."""
    catalog.create_table(TABLE, SCHEMA)
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "millrace.available-now": True,
    }
    runs = []
    for number in range(3):
        append(catalog, number, number + 10)
        runs.append(read(IcebergSource(TABLE, properties), **settings))
    assert runs == [[(n, "a"), (n + 10, "a")] for n in range(3)]


def test_renamed_and_added_columns(properties: dict[str, str], catalog: Catalog) -> None:
    """Columns are found by id: a name may have been another column's."""
    table = catalog.create_table(TABLE, SCHEMA)
    append(catalog, 1)
    with table.update_schema() as update:
        update.rename_column("day", "date")
        update.add_column("more", table.schema().find_type("id"))
    with table.update_schema() as update:
        update.rename_column("more", "day")
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        source = IcebergSource(TABLE, properties, bounded=True)
        with env.from_source(source, NO_TIME, "table").execute_and_collect() as results:
            assert [row.as_dict() for row in results] == [{"id": 1, "date": "a", "day": None}]


def test_deletes_end_the_job(properties: dict[str, str], catalog: Catalog) -> None:
    catalog.create_table(TABLE, SCHEMA)
    append(catalog, 1, 2)
    start = catalog.load_table(TABLE).current_snapshot()
    catalog.load_table(TABLE).delete("id = 1")
    source = IcebergSource(TABLE, properties, after_snapshot=start.snapshot_id, bounded=True)
    with pytest.raises(Exception, match=r"snapshot .* of table shop.orders deletes or updates"):
        read(source)
    with pytest.raises(Exception, match="snapshot 7 of table shop.orders, which was read last"):
        read(IcebergSource(TABLE, properties, after_snapshot=7, bounded=True))
    assert read(IcebergSource(TABLE, properties, bounded=True)) == [(2, "a")]


def test_refused(properties: dict[str, str], catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no Iceberg table shop.orders"):
        IcebergSink(TABLE, properties)
    with pytest.raises(JobDefinitionError, match="partition_by names column 'x'"):
        IcebergSink(TABLE, properties, ROWS, partition_by=["x"])
    with pytest.raises(JobDefinitionError, match="upsert_keys names 'x'"):
        IcebergSink(TABLE, properties, ROWS, upsert_keys=["x"])
    sink = IcebergSink(TABLE, properties, ROWS, upsert_keys=["id"])
    with pytest.raises(SerializationError, match="has no column 'x'"):
        written(sink, tmp_path, [{"x": 1}])
    with pytest.raises(SerializationError, match="'id' is in the upsert_keys .* not be null"):
        written(sink, tmp_path, [{"day": "a"}])
    ratios = Types.ROW_NAMED(["ratio"], [Types.DOUBLE()])
    for more in ({"partition_by": ["ratio"]}, {"upsert_keys": ["ratio"]}):
        sink = IcebergSink(f"shop.{next(iter(more))}", properties, ratios, **more)
        with pytest.raises(SerializationError, match="'ratio' is in the .* is NaN"):
            written(sink, tmp_path, [{"ratio": float("nan")}])
