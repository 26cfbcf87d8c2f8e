"""The writer of `SparkSink`, which needs no Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common import Types
from millrace.common.sink import WriterContext, WriterEpoch
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.spark.connector.spark_sink import SparkSink


def test_an_epoch_of_empty_batches_leaves_no_file_to_the_next(tmp_path: Path) -> None:
    """The next epoch's committable would name another file than the one that was written."""
    sink = SparkSink(lambda dataframe, checkpoint: None, Types.ROW_NAMED(["x"], [Types.LONG()]))
    writer = sink.create_writer(WriterContext(0, 1, "run", str(tmp_path)), None)
    committed = []
    for number, rows in enumerate(([], [(1,)], [(2,)])):
        writer.begin_epoch(WriterEpoch(number, f"run-{number}", 0))
        writer.write(RowBatch(rows))
        writer.write_columns(ColumnBatch(pa.record_batch({"x": pa.array([], pa.int64())})))
        committed.append([pq.read_table(item["path"]) for item in writer.prepare_commit(False)])
    writer.close()
    assert [[table.to_pydict() for table in tables] for tables in committed] == [
        [],
        [{"x": [1]}],
        [{"x": [2]}],
    ]
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
