"""DeltaSink: tables that the library deltalake reads, each checkpoint once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from millrace.common import Configuration, Row, RowKind, Types
from millrace.common.errors import (
    ConfigurationError,
    JobDefinitionError,
    JobExecutionError,
    SerializationError,
)
from millrace.common.sink import (
    CommitRequest,
    CommitState,
    CommitterContext,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors.delta import DeltaSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

ROWS = Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.STRING()])


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def run(sink: DeltaSink, records: Sequence[Any], **settings: Any) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        env.set_parallelism(2)
        env.from_collection(records).key_by(lambda r: r[0]).map(lambda r: r).sink_to(sink)
        env.execute()


def rows_of(table: str) -> list[tuple[Any, ...]]:
    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def written(
    sink: DeltaSink, directory: Path, rows: Sequence[Any], epoch: int = 1, run_id: str = "run"
) -> list[CommitRequest[Any]]:
    """What a checkpoint has of one epoch."""
    attempt = f"{run_id}-{epoch}-0-7-0-0"
    context = WriterContext(0, 1, run_id, str(directory / "job"))
    writer = sink.create_writer(context, None)
    writer.begin_epoch(WriterEpoch(epoch, attempt, 0))
    if rows:
        data = RowBatch(list(rows)).to_columns("row")
        writer.write_columns(ColumnBatch(data.data, None, data.row_kinds))
    requests = [CommitRequest(item) for item in writer.prepare_commit(False)]
    writer.close()
    return requests


def test_appends(table: str) -> None:
    """A job makes the table, with one version per checkpoint."""
    records = [(number, f"d {number % 3}") for number in range(100)]
    run(DeltaSink(table, ROWS, partition_by=["day"]), records)
    assert rows_of(table) == sorted(records, key=str)
    assert DeltaTable(table).metadata().partition_columns == ["day"]
    assert DeltaTable(table).version() == 1


def test_sinks_of_one_job_do_not_mix(table: str) -> None:
    """Sinks in one chain, and one sink object for two streams: all records arrive."""
    other, both = f"{table}-other", f"{table}-both"
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        numbers = env.from_collection(range(10)).rebalance()
        first = numbers.map(lambda n: (n, "a"))
        second = numbers.map(lambda n: (n, "b"))
        first.sink_to(DeltaSink(table, ROWS, upsert_keys=["id"]))
        first.map(lambda r: (r[0], "c")).sink_to(DeltaSink(other, ROWS, upsert_keys=["id"]))
        appending = DeltaSink(both, ROWS)
        first.sink_to(appending)
        second.sink_to(appending)
        env.execute()
    assert rows_of(table) == [(n, "a") for n in range(10)]
    assert rows_of(other) == [(n, "c") for n in range(10)]
    assert rows_of(both) == sorted([(n, day) for n in range(10) for day in "ab"], key=str)


def test_streaming_job(table: str, tmp_path: Path) -> None:
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "execution.checkpointing.interval": "0 ms",
        "millrace.epoch.initial-records-per-split": 10,
        "millrace.epoch.max-records-per-split": 10,
    }
    records = [(number, "x") for number in range(50)]
    run(DeltaSink(table, ROWS), records, **settings)
    assert rows_of(table) == sorted(records, key=str)
    assert DeltaTable(table).version() >= 5


def test_repeated_commits_are_recognised(table: str, tmp_path: Path) -> None:
    sink = DeltaSink(table, ROWS)
    committer = sink.create_committer(CommitterContext())
    requests = written(sink, tmp_path, [(1, "a")], 1) + written(sink, tmp_path, [(2, "b")], 2)
    committer.commit(requests)
    again = [CommitRequest(request.committable) for request in requests]
    sink.create_committer(CommitterContext()).commit(again)
    assert [request.state for request in again] == [CommitState.ALREADY_COMMITTED] * 2
    assert rows_of(table) == [(1, "a"), (2, "b")]
    committer.commit(written(sink, tmp_path, [(3, "c")], 3))
    committer.commit(written(sink, tmp_path, [(4, "d")], 2, run_id="fork"))
    assert [row[0] for row in rows_of(table)] == [1, 2, 3, 4]


def test_upserts(table: str, tmp_path: Path) -> None:
    """The last record of a key counts, and deletes do."""
    sink = DeltaSink(table, ROWS, upsert_keys=["id"])
    committer = sink.create_committer(CommitterContext())

    def change(kind: RowKind, number: int, day: str) -> Row:
        row = Row.of_kind(kind, number, day)
        row.set_field_names(["id", "day"])
        return row

    insert, delete = RowKind.INSERT, RowKind.DELETE
    before, after = RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER
    first = [change(insert, n, "a") for n in (1, 2, 3, 4)]
    committer.commit(written(sink, tmp_path, first, 1))
    second = [
        change(before, 1, "a"),
        change(after, 1, "b"),
        change(delete, 2, "a"),
        change(delete, 3, "a"),
        change(insert, 3, "c"),
        change(delete, 9, "never there"),
    ]
    requests = written(sink, tmp_path, second, 2) + written(
        sink, tmp_path, [change(after, 4, "d"), change(insert, 5, "e")], 3
    )
    committer.commit(requests)
    expected = [(1, "b"), (3, "c"), (4, "d"), (5, "e")]
    assert rows_of(table) == expected
    committer.commit([CommitRequest(request.committable) for request in requests])
    assert rows_of(table) == expected
    assert not list((tmp_path / "job" / "staged").glob("*.parquet"))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([{"id": 1, "nobody": 2}], "no column 'nobody'; it has id, day"),
        ([{"id": "one", "day": "a"}], "column 'id' of table .* is int64; the records have string"),
        ([{"day": "a"}], "'id' of table .* must have a value"),
        ([{"id": None, "day": "a"}, {"id": 1, "day": "a"}], "'id' of table .* must not be null"),
    ],
)
def test_records_that_do_not_fit(table: str, tmp_path: Path, rows: list[Any], text: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("day", pa.string())])
    DeltaTable.create(table, schema)
    with pytest.raises(SerializationError, match=text):
        written(DeltaSink(table), tmp_path, rows)


def test_a_table_that_is_not_there(table: str) -> None:
    with pytest.raises(Exception, match=r"there is no Delta table at .*row_type"):
        run(DeltaSink(table), [(1, "a")])


def test_keys_that_are_no_columns(table: str, tmp_path: Path) -> None:
    DeltaTable.create(table, pa.schema([("id", pa.int64()), ("day", pa.string())]))
    with pytest.raises(JobDefinitionError, match="upsert_keys names 'key'; table .* has id, day"):
        written(DeltaSink(table, upsert_keys=["key"]), tmp_path, [])


def test_partitions(table: str, tmp_path: Path) -> None:
    """Values that need quoting, none at all, and those that are no texts."""
    columns = {"n": [1, 2, 3], "p": ["a/b=c", None, "ü %"], "flag": [True, False, None]}
    data = pa.table(columns)
    write_deltalake(table, data, partition_by=["p", "flag"])
    sink = DeltaSink(table)
    sink.create_committer(CommitterContext()).commit(written(sink, tmp_path, data.to_pylist()))
    found = rows_of(table)
    assert len(found) == 6
    assert found[::2] == found[1::2]


def test_nan_finds_no_row(table: str, tmp_path: Path) -> None:
    """Two rows with it in their keys would never be one; a partition of it could not be asked
    for. Elsewhere it is a value as any other."""
    schema = pa.schema([("k", pa.float64()), ("p", pa.float32()), ("n", pa.float64())])
    DeltaTable.create(table, schema, partition_by=["p"])
    nan = float("nan")
    upserts = DeltaSink(table, upsert_keys=["k"])
    with pytest.raises(SerializationError, match="column 'k' is in the upsert_keys .* is NaN"):
        written(upserts, tmp_path, [{"k": 1.0}, {"k": nan}])
    with pytest.raises(SerializationError, match="column 'p' is in the partitioning .* is NaN"):
        written(DeltaSink(table), tmp_path, [{"p": nan}])
    upserts.create_committer(CommitterContext()).commit(
        written(upserts, tmp_path, [{"k": 1.0, "n": nan}])
    )
    assert str(rows_of(table)) == "[(1.0, None, nan)]"


def test_files_that_failed_attempts_staged_are_deleted(table: str, tmp_path: Path) -> None:
    sink = DeltaSink(table, ROWS, upsert_keys=["id"])
    committer = sink.create_committer(CommitterContext())
    committer.commit(written(sink, tmp_path, [(1, "a")], 1))
    staged = tmp_path / "job" / "staged"
    assert list(staged.iterdir()) == []
    written(sink, tmp_path, [(2, "a")], 2)
    written(sink, tmp_path, [(3, "a")], 2, run_id="other")
    sink.sweep((), {"run"}, 60_000)
    assert len(list(staged.iterdir())) == 2
    sink.sweep((), {"run"}, -1_000)
    assert [file.name for file in staged.iterdir()] == ["other-2-0-7-0-0.parquet"]


@pytest.mark.parametrize("keys", [None, ["id"]])
def test_files_that_are_gone_are_not_committed(
    table: str, tmp_path: Path, keys: list[str] | None
) -> None:
    """Nobody could read a table that names them."""
    sink = DeltaSink(table, ROWS, upsert_keys=keys)
    committer = sink.create_committer(CommitterContext())
    requests = written(sink, tmp_path, [(1, "a")])
    item = requests[0].committable
    Path(item["directory"], item["path"]).unlink()
    with pytest.raises(JobExecutionError, match="is gone"):
        committer.commit(requests)
    assert rows_of(table) == []


def test_tables_whose_conditions_files_would_evade(table: str) -> None:
    write_deltalake(table, pa.table({"id": [1], "day": ["a"]}))
    DeltaTable(table).alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(ConfigurationError, match=r"delta\.constraints\.positive"):
        DeltaSink(table).create_committer(CommitterContext())
    DeltaSink(table, upsert_keys=["id"]).create_committer(CommitterContext())


def test_column_mapping(table: str) -> None:
    write_deltalake(table, pa.table({"id": [1], "day": ["a"]}))
    log = Path(table, "_delta_log", f"{0:020}.json")
    mapped = '"configuration":{"delta.columnMapping.mode":"name"}'
    log.write_text(log.read_text().replace('"configuration":{}', mapped))
    with pytest.raises(ConfigurationError, match="columnMapping"):
        DeltaSink(table).create_committer(CommitterContext())
