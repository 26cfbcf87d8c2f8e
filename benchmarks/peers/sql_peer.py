"""Queries of SQL on Flink's JVM: PyFlink only submits the statements.

    python sql_peer.py RUNS

RUNS and the report are those of ``jobs/sql_runs.py``. Heap state, object reuse, mini-batches, no
checkpoints. Run this with the interpreter that ``setup.sh`` prepared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

SETTINGS = {
    "state.backend.type": "hashmap",
    "pipeline.object-reuse": "true",
    "rest.port": "0",
    "parallelism.default": "2",
    "table.local-time-zone": "UTC",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}


def seconds(statements: list[str], query: str) -> float:
    config = Configuration()
    for key, value in SETTINGS.items():
        config.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    for statement in statements:
        t_env.execute_sql(statement)
    table = t_env.sql_query(query)
    sink = TableDescriptor.for_connector("blackhole").build()
    start = time.perf_counter()
    table.execute_insert(sink).wait()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    args = parser.parse_args()
    report: dict[str, Any] = {}
    for name, runs in json.loads(args.runs.read_text()).items():
        try:
            report[name] = [seconds(*run) for run in runs]
        except Exception as error:
            report[name] = str(error).strip()[:300]
        print(name, report[name], file=sys.stderr, flush=True)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
