"""An aggregate function of Python over tumbling windows of a statement of PyFlink.

    python udaf_peer.py SIZES

SIZES is JSON: a mode (process general, process pandas) to numbers of rows; the
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
from pyflink.table.udf import AggregateFunction, udaf


class Spread(AggregateFunction):
    """The greatest value less the least one."""

    def create_accumulator(self) -> Any:
        return [None, None]

    def accumulate(self, accumulator: Any, value: int) -> None:
        least, most = accumulator
        if least is None or value < least:
            accumulator[0] = value
        if most is None or value > most:
            accumulator[1] = value

    def get_value(self, accumulator: Any) -> Any:
        least, most = accumulator
        return None if least is None else most - least


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
    given = Spread() if func_type == "general" else lambda values: values.max() - values.min()
    function = udaf(
        given,
        result_type="BIGINT",
        accumulator_type="ARRAY<BIGINT>" if func_type == "general" else None,
        func_type=func_type,
    )
    t_env.create_temporary_function("f", function)
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, k AS MOD(i, 100), ts AS TO_TIMESTAMP_LTZ(i, 3), "
        "WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', "
        "'rows-per-second' = '1000000000', 'fields.i.kind' = 'sequence', "
        f"'fields.i.start' = '1', 'fields.i.end' = '{rows}')"
    )
    t_env.execute_sql("CREATE TABLE nowhere (k BIGINT, r BIGINT) WITH ('connector' = 'blackhole')")
    start = time.perf_counter()
    t_env.execute_sql(
        "INSERT INTO nowhere SELECT k, f(i) FROM n GROUP BY k, TUMBLE(ts, INTERVAL '1' MINUTE)"
    ).wait()
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
