"""Compaction: what several checkpoints wrote becomes one file."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import fastavro
import pytest

from millrace.common import Encoder, Row, Types
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.common.types.batch import RowBatch
from millrace.connectors import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from millrace.connectors.errors import PartFileError
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import (
    CsvBulkWriters,
    CsvEncoder,
    CsvSchema,
    OrcBulkWriters,
    OrcColumnarRowInputFormat,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from millrace.formats.avro import AvroBulkWriters
from millrace.testing import run_local

CONCAT = FileCompactor.concat_file_compactor()
RECORD_WISE = FileCompactor.record_wise_file_compactor()
ON_CHECKPOINT = RollingPolicy.on_checkpoint_rolling_policy()


def every(checkpoints: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()


def builder(path: Path, encoder: Encoder[Any] | None = None) -> Any:
    made = FileSink.for_row_format(path, encoder or Encoder.simple_string_encoder())
    made.with_rolling_policy(ON_CHECKPOINT)
    return made.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())


def checkpoint(harness: Any, values: list[Any], end_of_input: bool = False) -> None:
    """An epoch after which there is a checkpoint."""
    harness.epoch += 1
    writer = harness.writer()
    if harness.epoch > 1:
        writer.notify_checkpoint_complete(harness.epoch - 1)
    writer.write(RowBatch(values))
    harness.committables += writer.prepare_commit(end_of_input)
    harness.states[0] = writer.snapshot_state()
    harness.wakeup = writer.next_wakeup()
    writer.close()
    harness.commit()


def files(path: Path) -> list[str]:
    return [f.read_text() for f in sorted(path.iterdir()) if not f.name.startswith(".")]


def test_several_checkpoints_make_one_file(sink_harness, output) -> None:
    """Nothing of it is seen before, and nothing is left over."""
    harness = sink_harness(builder(output.path).enable_compact(every(3), CONCAT).build())
    seen = []
    for number in range(7):
        checkpoint(harness, [number], end_of_input=number == 6)
        seen.append(len(output.visible()))
    assert seen == [0, 0, 1, 1, 1, 2, 3]
    assert files(output.path) == ["0\n1\n2\n", "3\n4\n5\n", "6\n"]
    assert output.hidden() == []


def test_what_stands_between_files(sink_harness, output) -> None:
    """A header is written once for all of them."""
    compactor = FileCompactor.concat_file_compactor(b"--\n")
    encoder = CsvEncoder.for_columns("n")
    harness = sink_harness(
        builder(output.path, encoder).enable_compact(every(2), compactor).build()
    )
    checkpoint(harness, [{"n": 1}])
    checkpoint(harness, [{"n": 2}])
    assert files(output.path) == ["n\n1\n--\n2\n"]


def test_files_are_joined_up_to_a_size(sink_harness, output) -> None:
    """However many checkpoints that takes; not for ever if nothing comes."""
    strategy = (
        FileCompactStrategy.builder().set_size_threshold(6).set_num_compact_threads(4).build()
    )
    harness = sink_harness(builder(output.path).enable_compact(strategy, CONCAT).build())
    for number in range(4):
        checkpoint(harness, [number])
    assert files(output.path) == ["0\n1\n2\n"]
    assert harness.wakeup == harness.clock.now + 60_000
    harness.clock.now += 60_000
    checkpoint(harness, [])
    assert files(output.path) == ["0\n1\n2\n", "3\n"]


@pytest.mark.parametrize("switch", ["identical", "disabled"])
def test_files_stay_as_they_are(switch: str, sink_harness, output) -> None:
    """With the compactor that copies, and when compaction is switched off again."""
    if switch == "identical":
        made = builder(output.path).enable_compact(
            every(2), FileCompactor.identical_file_compactor()
        )
    else:
        made = builder(output.path).enable_compact(every(2), CONCAT).disable_compact()
    harness = sink_harness(made.build())
    for number in range(3):
        checkpoint(harness, [number])
    assert files(output.path) == ["0\n", "1\n", "2\n"]


def test_a_job_with_compaction(tmp_path: Path) -> None:
    """Every line is there once, in fewer files than checkpoints."""
    with run_local(epoch_records=5, checkpoint_dir=str(tmp_path / "checkpoints")) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment().enable_checkpointing(0)
        sink = builder(tmp_path / "out").enable_compact(every(4), CONCAT).build()
        env.from_collection(range(100)).sink_to(sink)
        env.execute()
    found = files(tmp_path / "out")
    assert sorted(int(line) for text in found for line in text.split()) == list(range(100))
    assert 1 < len(found) < len(cluster.progress) / 2


ROWS = Types.ROW_NAMED(
    ["n", "word", "at", "price", "tags", "more"],
    [
        Types.LONG(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.DOUBLE(),
        Types.LIST(Types.STRING()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
    ],
)
COLUMNAR = {
    "parquet": (ParquetBulkWriters.for_row_type(ROWS), ParquetColumnarRowInputFormat),
    "orc": (OrcBulkWriters.for_row_type(ROWS), OrcColumnarRowInputFormat),
    "avro": (AvroBulkWriters.for_row_type(ROWS), None),
}


def some_row(n: int) -> Row:
    at = datetime(2024, 2, 29, 12, 0, 0, 123000) + timedelta(hours=n)
    tags = None if n % 3 == 0 else [f"t{n}", None]
    return Row(n=n, word=f"w{n}", at=at, price=n / 4, tags=tags, more=Row(x=n) if n % 2 else None)


def read_rows(kind: str, paths: list[Path]) -> list[Any]:
    if kind == "avro":
        opened = [fastavro.reader(path.open("rb")) for path in paths]
        return [
            (row["n"], row["word"], row["price"], row["tags"]) for each in opened for row in each
        ]
    form = COLUMNAR[kind][1](ROWS)
    found = []
    for path in paths:
        for piece in form.ranges(str(path), path.stat().st_size, 1 << 30):
            reader = form.open(str(path), piece, None)
            while not reader.finished():
                found += reader.read(1_000).to_rows().values
            reader.close()
    return found


@pytest.mark.parametrize("kind", list(COLUMNAR))
def test_files_of_bulk_formats_are_written_anew(kind: str, sink_harness, output) -> None:
    """Also when they grow over more checkpoints than a part keeps pieces, row by row."""
    writers, _ = COLUMNAR[kind]
    made = FileSink.for_bulk_format(output.path, writers)
    made.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    harness = sink_harness(made.enable_compact(every(40), RECORD_WISE).build())
    rows = [some_row(n) for n in range(82)]
    for start in range(0, 82, 2):
        checkpoint(harness, rows[start : start + 2], end_of_input=start == 80)
    paths = [Path(path) for path in sorted(output.visible())]
    paths = [path if path.is_absolute() else output.path / path for path in paths]
    assert len(paths) == 2
    assert output.hidden() == []
    found = read_rows(kind, paths)
    if kind == "avro":
        assert found == [(row.n, row.word, row.price, row.tags) for row in rows]
    else:
        assert [tuple(row) for row in found] == [tuple(row) for row in rows]


def test_a_header_of_csv_files_is_there_once(sink_harness, output) -> None:
    schema = CsvSchema.builder().add_string_column("a").set_use_header().build()
    made = FileSink.for_bulk_format(output.path, CsvBulkWriters.for_schema(schema))
    made.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    harness = sink_harness(made.enable_compact(every(2), RECORD_WISE).build())
    checkpoint(harness, [{"a": "x"}])
    checkpoint(harness, [{"a": "y"}])
    assert files(output.path) == ["a\nx\ny\n"]


def test_a_damaged_piece_is_found(sink_harness, output) -> None:
    """Before a file is made of it."""
    writers, _ = COLUMNAR["parquet"]
    made = FileSink.for_bulk_format(output.path, writers)
    made.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    harness = sink_harness(made.enable_compact(every(2), RECORD_WISE).build())
    checkpoint(harness, [some_row(1)])
    [piece] = [path for path in output.path.iterdir() if path.name.startswith(".")]
    content = bytearray(piece.read_bytes())
    content[len(content) // 2] ^= 1
    piece.write_bytes(content)
    with pytest.raises(PartFileError, match="this piece of an unfinished part is damaged"):
        checkpoint(harness, [some_row(2)])
    assert output.visible() == []


class Whole(BulkWriterFactory[Any]):
    """A user's factory that does not say how files are joined."""

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        raise NotImplementedError


def test_refusals(tmp_path: Path) -> None:
    """A strategy without an end, and files that cannot be concatenated."""
    with pytest.raises(JobDefinitionError, match="needs enable_compaction_on_checkpoint or"):
        FileCompactStrategy.Builder().build()
    with pytest.raises(JobDefinitionError, match="must be positive, not 0"):
        every(0)
    bulk = FileSink.for_bulk_format(
        tmp_path, ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.INT()]))
    )
    with pytest.raises(JobDefinitionError, match="cannot be concatenated"):
        bulk.enable_compact(every(2), CONCAT)
    with pytest.raises(JobDefinitionError, match="files of Whole cannot be joined: make it a J"):
        FileSink.for_bulk_format(tmp_path, Whole()).enable_compact(every(2), RECORD_WISE)
    with pytest.raises(JobDefinitionError, match="may differ, and cannot be joined: declare"):
        FileSink.for_bulk_format(tmp_path, ParquetBulkWriters.for_row_type()).enable_compact(
            every(2), RECORD_WISE
        )
    assert bulk.enable_compact(every(2), FileCompactor.identical_file_compactor()) is bulk
    with pytest.raises(JobDefinitionError, match="takes a FileCompactStrategy and a FileCompactor"):
        builder(tmp_path).enable_compact(2, CONCAT)
