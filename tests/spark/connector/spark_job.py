"""A job that the tests run in processes of their own: micro-batches -> keyed count -> Delta."""

from __future__ import annotations

import sys

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import SparkSession

from millrace.common import Configuration, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.filesystem.crash_points import crash_point
from millrace.spark.connector import SparkCheckpoint, SparkSink

ROWS = 100
"""Rows of a micro-batch."""


def main(root: str, batches: int) -> None:
    """Count ``value % 10`` of a number of micro-batches; the table has every result."""

    def append(dataframe: object, checkpoint: SparkCheckpoint) -> None:
        table = f"{root}/table"
        try:
            version = DeltaTable(table).transaction_version(checkpoint.application_id)
        except TableNotFoundError:
            version = None
        if version is None or version < checkpoint.checkpoint_id:
            crash_point("before-table")
            written = Transaction(*checkpoint)
            write_deltalake(
                table,
                dataframe.toArrow(),  # type: ignore[attr-defined]
                mode="append",
                commit_properties=CommitProperties(app_transactions=[written]),
            )
            crash_point("after-table")

    settings = {
        "execution.checkpointing.dir": f"{root}/checkpoints",
        "execution.checkpointing.interval": "100 ms",
        "spark.master": "local[2,4]",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.set_parallelism(2)
    spark = SparkSession.builder.getOrCreate()
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
    last = batches * ROWS
    values = env.from_spark(ticks, source_name="ticks").uid("ticks")
    pairs = values.map(lambda row: (row.value % 10, 1, row.value))
    counts = pairs.key_by(lambda pair: pair[0], Types.LONG()).reduce(
        lambda a, b: (a[0], a[1] + b[1], b[2])
    )
    rows = Types.ROW_NAMED(["key", "count", "value"], [Types.LONG(), Types.LONG(), Types.LONG()])
    counts.uid("count").filter(lambda row: row[2] < last).sink_to(SparkSink(append, rows))
    env.execute("ticks")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
