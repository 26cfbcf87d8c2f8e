"""Changes of a PostgreSQL table that are read as rows and thrown away.

    python postgres_changes.py SLOT TABLE (initial | committed) --checkpoint-dir DIR

The server is found by libpq's environment variables. Reads to where the log ends when it begins.
The clock starts when the first epochs are over. Prints one JSON line: records, seconds, epochs.
"""

from __future__ import annotations

import argparse
import json
import os
import time

from discarding_sink import DiscardingSink

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors.postgres_cdc import PostgresCdcSource, StartupOptions
from millrace.datastream import StreamExecutionEnvironment

WARM_UP = 3
"""Epochs with records before the clock starts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slot")
    parser.add_argument("table")
    parser.add_argument("startup", choices=["initial", "committed"])
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    config = Configuration()
    config.set_string("execution.checkpointing.dir", args.checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "1 s")
    config.set_string("millrace.available-now", "true")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    source = (
        PostgresCdcSource.builder()
        .hostname(os.environ["PGHOST"])
        .port(int(os.environ["PGPORT"]))
        .database(os.environ["PGDATABASE"])
        .table_list(args.table)
        .slot_name(args.slot)
        .startup_options(getattr(StartupOptions, args.startup)())
        .build()
    )
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").sink_to(DiscardingSink())
    marks: list[tuple[float, int]] = []

    def note(job: object) -> None:
        records = int(job.records)  # type: ignore[attr-defined]
        if records > (marks[-1][1] if marks else 0):
            marks.append((time.perf_counter(), records))

    env.launcher.listeners.append(note)
    env.execute("changes")
    (start, read), (end, total) = marks[min(WARM_UP, len(marks) - 1) - 1], marks[-1]
    report = {"records": total - read, "seconds": round(end - start, 3), "epochs": len(marks)}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
