"""A scalar function of Python in a statement, through Spark.

    python udf_queries.py SIZES --checkpoint-dir DIR

SIZES is JSON: a type of function (general, pandas, arrow) to the numbers of rows to run it with,
one after the other. Prints one JSON line: the type to the seconds of its runs.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import pyarrow.compute as pc

from millrace.common import Configuration
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.udf import udf

FUNCTIONS: dict[str, Any] = {
    "general": lambda a, b: a * 2 + b,
    "pandas": lambda a, b: a * 2 + b,
    "arrow": lambda a, b: pc.add(pc.multiply(a, 2), b),
}


def seconds(func_type: str, rows: int, checkpoint_dir: str) -> float:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    config.set_string("parallelism.default", "2")
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    function = udf(FUNCTIONS[func_type], result_type="BIGINT", func_type=func_type)
    t_env.create_temporary_function("f", function)
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, j BIGINT) WITH ('connector' = 'datagen', "
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
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    seconds("general", 10_000, f"{args.checkpoint_dir}/warm-up")
    report = {
        func_type: [
            seconds(func_type, rows, f"{args.checkpoint_dir}/{func_type}-{i}")
            for i, rows in enumerate(sizes)
        ]
        for func_type, sizes in args.sizes.items()
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
