"""An aggregate function of Python over tumbling windows of a statement, through Spark.

    python udaf_queries.py SIZES --checkpoint-dir DIR

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
from millrace.table import AggregateFunction, EnvironmentSettings, TableEnvironment
from millrace.table.udf import udaf


class Spread(AggregateFunction):
    """The greatest value less the least one."""

    def create_accumulator(self) -> list[int | None]:
        return [None, None]

    def accumulate(self, accumulator: list[int | None], value: int) -> None:
        least, most = accumulator
        if least is None or value < least:
            accumulator[0] = value
        if most is None or value > most:
            accumulator[1] = value

    def merge(self, accumulator: list[int | None], accumulators: Any) -> None:
        for least, most in accumulators:
            if least is not None:
                self.accumulate(accumulator, least)
                self.accumulate(accumulator, most)

    def get_value(self, accumulator: list[int | None]) -> int | None:
        least, most = accumulator
        return None if least is None or most is None else most - least


FUNCTIONS: dict[str, Any] = {
    "general": Spread(),
    "pandas": lambda values: values.max() - values.min(),
    "arrow": lambda values: pc.subtract(pc.max(values), pc.min(values)),
}


def seconds(func_type: str, rows: int, checkpoint_dir: str) -> float:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    config.set_string("parallelism.default", "2")
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    function = udaf(FUNCTIONS[func_type], result_type="BIGINT", func_type=func_type)
    t_env.create_temporary_function("f", function)
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, k AS MOD(i, 100), ts AS TO_TIMESTAMP_LTZ(i, 3), "
        "WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', "
        f"'fields.i.start' = '1', 'fields.i.end' = '{rows}')"
    )
    t_env.execute_sql("CREATE TABLE nowhere (k BIGINT, r BIGINT) WITH ('connector' = 'blackhole')")
    start = time.perf_counter()
    t_env.execute_sql(
        "INSERT INTO nowhere SELECT k, f(i) FROM TABLE(TUMBLE(TABLE n, DESCRIPTOR(ts), "
        "INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end"
    ).wait()
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
