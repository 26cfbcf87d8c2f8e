"""Cleans CSV files as they arrive: each line ends in Parquet, as a duplicate, or as a dead letter.

``millrace run cleanup.py`` watches ``inbox`` in the current directory and writes to ``results``.
``cleanup_2.py`` is the next version.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orders import (
    DUPLICATES,
    REFUSED,
    Check,
    Deduplicate,
    Named,
    NameOfArticle,
    Order,
    Record,
    described,
)

from millrace.common import (
    DeadLetter,
    Duration,
    ErrorPolicy,
    OutputTag,
    Time,
    Types,
    WatermarkStrategy,
)
from millrace.connectors import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
)
from millrace.datastream import (
    AsyncDataStream,
    AsyncRetryStrategy,
    DataStream,
    StreamExecutionEnvironment,
)
from millrace.formats import CsvReaderFormat, CsvSchema, JsonLinesEncoder, ParquetBulkWriters

UNREADABLE: OutputTag[DeadLetter] = OutputTag("unreadable")
COLUMNS = {
    "order": Types.STRING(),
    "article": Types.STRING(),
    "amount": Types.DOUBLE(),
    "note": Types.STRING(),
    "file": Types.STRING(),
    "offset": Types.LONG(),
}
"""Columns of the Parquet files; day and country are in the names of their directories."""


def clean_orders(
    env: StreamExecutionEnvironment, base: Path, check: Check, deduplicate: Deduplicate
) -> DataStream[Record]:
    """Orders that make sense, each once; all else is written to files."""
    schema = (
        CsvSchema.builder()
        .add_string_column("order")
        .add_string_column("at")
        .add_string_column("country")
        .add_string_column("article")
        .add_number_column("amount", Types.DOUBLE())
        .add_string_column("note")
        .set_use_header()
        .build()
    )
    inbox = base / "inbox"
    inbox.mkdir(parents=True, exist_ok=True)
    csv = CsvReaderFormat.for_schema(schema, record_type=dict)
    source = (
        FileSource.for_record_stream_format(csv, inbox)
        .monitor_continuously(Duration.of_millis(200))
        .set_error_policy(ErrorPolicy.side_output(UNREADABLE))
        .with_origin()
        .build()
    )
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
    checked = lines.process(check, Types.of(Order)).uid("check")
    # ConnectionError is worth another try, at most three of them
    retry = AsyncRetryStrategy.fixed_delay(3, 50, None, is_connection_error)
    found = AsyncDataStream.unordered_wait_with_retry(
        checked, NameOfArticle(), Time.seconds(10), retry, capacity=100
    ).uid("articles")
    named = found.process(Named(), Types.of(Order)).uid("named")
    # last, so that an order that was refused may come again, corrected
    by_id = named.key_by(lambda order: order.order, key_type=Types.STRING())
    once = by_id.process(deduplicate, Types.of(Order)).uid("deduplicate")
    write_lines(once.get_side_output(DUPLICATES), base / "results/duplicates")
    dead = lines.get_side_output(UNREADABLE).map(described)
    dead = dead.union(checked.get_side_output(REFUSED), named.get_side_output(REFUSED))
    write_lines(dead, base / "results/dead")
    return once.map(asdict).uid("records")


def is_connection_error(error: BaseException) -> bool:
    """Whether the service may answer the next time."""
    return isinstance(error, ConnectionError)


def write_lines(records: DataStream[Record], directory: Path) -> None:
    """Write JSON lines, exactly once."""
    sink = (
        FileSink.for_row_format(directory, JsonLinesEncoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    records.sink_to(sink).uid(directory.name)


def write_parquet(records: DataStream[Record], columns: dict[str, Any], directory: Path) -> None:
    """Write Parquet, exactly once, partitioned as Spark, Hive and pandas understand it."""
    row_type = Types.ROW_NAMED(list(columns), list(columns.values()))
    sink = (
        FileSink.for_bulk_format(directory, ParquetBulkWriters.for_row_type(row_type))
        .with_bucket_assigner(BucketAssigner.partition_by("day", "country"))
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".parquet").build())
        .build()
    )
    # a partition is written by one subtask: fewer files
    by_partition = records.key_by(lambda order: f"{order['day']} {order['country']}")
    by_partition.sink_to(sink).uid(directory.name)


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = clean_orders(env, base, Check(), Deduplicate())
    write_parquet(orders, COLUMNS, base / "results/orders")
    env.execute("cleanup")


if __name__ == "__main__":
    main()
