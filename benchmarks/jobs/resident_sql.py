"""A query at a fixed rate on resident tasks; tells when its sink got each row.

    python resident_sql.py --checkpoint-dir DIR --query top-n|group-by --seconds S [--rate R]

``top-n``: a filter into a window Top-N; the time counts from the end of the window by the clock,
with which the source stamps its events. ``group-by``: a count per key; the time counts from when
the event was due that changed the count. The sink writes at once, with a checkpoint each second.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from array import array
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millrace.common import Configuration, RowKind, Types, WatermarkStrategy
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import Batch
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import Schema, StreamTableEnvironment

PARALLELISM = 2
KEYS = 1000
QUERIES = {
    "top-n": """
SELECT k, c, window_end AS due FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c DESC) AS n
    FROM (SELECT k, window_start, window_end, COUNT(*) AS c
        FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND))
        WHERE v < 90 GROUP BY k, window_start, window_end))
WHERE n <= 3""",
    "group-by": "SELECT k, COUNT(*) AS c, MAX(CAST(ts AS TIMESTAMP(3))) AS due "
    "FROM events GROUP BY k",
}


class TimesWriter(SinkWriter[Any]):
    """Notes when each row was due and when it came, in ms since the epoch."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._times = array("d")

    def write(self, batch: Batch) -> None:
        now = time.time() * 1000
        for row in batch.to_rows().values:
            if row.get_row_kind() is not RowKind.UPDATE_BEFORE:
                self._times.extend((milliseconds(row.due), now))

    def flush(self, end_of_input: bool) -> None:
        with open(self._path, "ab") as file:
            self._times.tofile(file)
        self._times = array("d")


class TimesSink(Sink[Any]):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def create_writer(self, context: WriterContext, state: Any) -> TimesWriter:
        return TimesWriter(os.path.join(self._directory, f"times-{context.subtask_index}"))


def milliseconds(due: datetime) -> float:
    return due.replace(tzinfo=UTC).timestamp() * 1000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--query", choices=QUERIES, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=5, help="seconds that do not count")
    parser.add_argument("--executor", default="resident")
    return parser.parse_args()


def start(args: argparse.Namespace, output: Path) -> None:
    """Run the query to the end of its events."""
    config = Configuration()
    config.set_string("execution.checkpointing.dir", os.path.join(args.checkpoint_dir, "c"))
    config.set_string("execution.checkpointing.interval", "1 s")
    config.set_string("millrace.executor", args.executor)
    config.set_string("table.local-time-zone", "UTC")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    t_env = StreamTableEnvironment.create(env)
    source = DataGeneratorSource(
        lambda i: (i * 7919 % KEYS, i % 100),
        count=(args.seconds + args.warm_up) * args.rate,
        rate_limiter_strategy=RateLimiterStrategy.per_second(args.rate),
        splits=PARALLELISM,
        timestamped=True,
    )
    row = Types.ROW_NAMED(["k", "v"], [Types.INT(), Types.INT()])
    watermarks = WatermarkStrategy.for_monotonous_timestamps()
    events = env.from_source(source, watermarks, "events", row)
    schema = Schema.new_builder().column("k", "INT").column("v", "INT")
    schema = schema.column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
    schema = schema.watermark("ts", "SOURCE_WATERMARK()")
    t_env.create_temporary_view("events", events, schema.build())
    rows = t_env.to_changelog_stream(t_env.sql_query(QUERIES[args.query]))
    rows.sink_to(TimesSink(str(output)))
    env.execute(f"resident {args.query}")


def main() -> None:
    args = arguments()
    output = Path(args.checkpoint_dir) / "out"
    output.mkdir()
    start(args, output)
    times = array("d")
    for path in output.iterdir():
        times.frombytes(path.read_bytes())
    pairs = list(zip(times[::2], times[1::2], strict=True))
    begin = min(due for due, _ in pairs) + args.warm_up * 1000
    # the last window ends with the input, before the time of its end
    late = [round(seen - due, 2) for due, seen in pairs if due >= begin and seen >= due]
    print(json.dumps({"delays_ms": late}))


if __name__ == "__main__":
    main()
