"""Queries of SQL through Spark, from a sequence to a table that forgets its rows.

    python sql_runs.py RUNS --checkpoint-dir DIR [--executor NAME [--every-epoch]]

RUNS is a file that `sql_engines.py` writes: names, each with its runs, one after the other. With a
checkpoint after every epoch. Prints one JSON line: a name to the seconds of its runs, or to the
message of its failure. Epochs are as long as suits a backlog, as Flink's mini-batches are.
With ``--executor`` the queries run on that executor, with a checkpoint each two seconds, or still
after every epoch. Epochs of resident tasks are then as long as the others, too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from millrace.common import Configuration
from millrace.table import EnvironmentSettings, TableEnvironment


def seconds(
    statements: list[str],
    query: str,
    checkpoint_dir: str,
    executor: str | None = None,
    every_epoch: bool = False,
) -> float:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.epoch.target-duration", "2 s")
    if executor is not None:
        config.set_string("millrace.executor", executor)
    if executor is not None and not every_epoch:
        config.set_string("execution.checkpointing.interval", "2 s")
    if executor == "resident":
        config.remove_config("millrace.epoch.target-duration")
        config.set_string("millrace.resident.barrier-interval", "2 s")
    config.set_string("parallelism.default", "2")
    config.set_string("table.local-time-zone", "UTC")
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    for statement in statements:
        t_env.execute_sql(statement)
    table = t_env.sql_query(query)
    columns = ", ".join(f"`{each.name}` {each.type}" for each in table.get_schema().row_type.fields)
    t_env.execute_sql(f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector'='blackhole')")
    start = time.perf_counter()
    table.execute_insert("nowhere").wait()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--executor")
    parser.add_argument("--every-epoch", action="store_true")
    args = parser.parse_args()
    report: dict[str, Any] = {}
    for name, runs in json.loads(args.runs.read_text()).items():
        places = [f"{args.checkpoint_dir}/{name}-{number}" for number in range(len(runs))]
        try:
            report[name] = [
                seconds(*run, place, args.executor, args.every_epoch)
                for run, place in zip(runs, places, strict=True)
            ]
        except Exception as error:
            report[name] = f"{type(error).__name__}: {error}"[:300]
        print(name, report[name], file=sys.stderr, flush=True)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
