"""A scalar function of Python in a statement of PyFlink.

    python udf_peer.py SIZES

SIZES is JSON: a mode (process general, process pandas, thread general) to numbers of rows; the
report is the seconds of each run. Object reuse, no checkpoints. Run this with the interpreter that
``setup.sh`` prepared.
"""

from __future__ import annotations

import argparse
import json
import os
import site
import sys
import time
from typing import Any

# thread mode runs an interpreter in the JVM, which does not know the environment it was started of
os.environ["PYTHONPATH"] = site.getsitepackages()[0]

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf


def seconds(mode: str, rows: int) -> float:
    execution, func_type = mode.split()
    config = Configuration()
    for key, value in {
        "pipeline.object-reuse": "true",
        "rest.port": "0",
        "parallelism.default": "2",
        "python.execution-mode": execution,
        "python.executable": sys.executable,
    }.items():
        config.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    function = udf(lambda a, b: a * 2 + b, result_type="BIGINT", func_type=func_type)
    t_env.create_temporary_function("f", function)
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, j BIGINT) WITH ('connector' = 'datagen', "
        "'rows-per-second' = '1000000000', "
        "'fields.i.kind' = 'sequence', 'fields.i.start' = '1', "
        f"'fields.i.end' = '{rows}', 'fields.j.kind' = 'sequence', 'fields.j.start' = '1', "
        f"'fields.j.end' = '{rows}')"
    )
    t_env.execute_sql("CREATE TABLE nowhere (r BIGINT) WITH ('connector' = 'blackhole')")
    start = time.perf_counter()
    t_env.execute_sql("INSERT INTO nowhere SELECT f(i, j) FROM n").wait()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=json.loads)
    args = parser.parse_args()
    seconds(next(iter(args.sizes)), 1_000)
    report: dict[str, Any] = {}
    for mode, sizes in args.sizes.items():
        report[mode] = [seconds(mode, rows) for rows in sizes]
        print(mode, report[mode], file=sys.stderr, flush=True)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
