"""Rows that are upserted into a table of PostgreSQL.

    python jdbc_upserts.py URL GUARANTEE ROWS --checkpoint-dir DIR

The clock starts when the first epochs are over and ends when everything is in the table. Prints one
JSON line: rows, seconds, and the processor time of all processes of the job meanwhile.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter

from cpu_seconds import cpu_seconds

from millrace.common import Configuration, Row, Types, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from millrace.datastream import StreamExecutionEnvironment

WARM_UP = 3
"""Epochs before the clock starts."""
KEYS = 200_000
TOTAL = Types.ROW_NAMED(
    ["customer", "name", "cents", "ratio"],
    [Types.LONG(), Types.STRING(), Types.LONG(), Types.DOUBLE()],
)


def total(number: int) -> Row:
    key = number * 7919 % KEYS
    return Row(key, f"customer-{key:06d}", number, number * 0.25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("guarantee", choices=["at-least-once", "exactly-once"])
    parser.add_argument("rows", type=int)
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    config = Configuration()
    config.set_string("execution.checkpointing.dir", args.checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "1 s")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    database = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(args.url).build()
    builder = JdbcSink.builder().with_table("totals").with_type_info(TOTAL).with_key("customer")
    if args.guarantee == "exactly-once":
        sink = builder.build_exactly_once(database)
    else:
        sink = builder.build_at_least_once(database)
    numbers = NumberSequenceSource(1, args.rows, splits=2)
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
    stream.map(total, TOTAL).sink_to(sink)
    marks: list[tuple[float, int, Counter[str]]] = []
    env.launcher.listeners.append(
        lambda job: marks.append((time.perf_counter(), job.records, cpu_seconds()))
    )
    env.execute("upserts")
    end = time.perf_counter()
    start, read, before = marks[min(WARM_UP, len(marks)) - 1]
    report = {
        "rows": args.rows - read,
        "seconds": round(end - start, 3),
        "epochs": len(marks) - WARM_UP,
        "cpu": dict(marks[-1][2] - before),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
