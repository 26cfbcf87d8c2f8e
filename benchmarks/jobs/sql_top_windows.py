"""A filter into a window Top-N at a fixed rate; tells how long after its end each window was seen.

    python sql_top_windows.py --checkpoint-dir DIR --seconds S [--rate R] [--warm-up W]

The time of an event is when the source made it, so the watermark passes the end of a window with
the first event that is due after it; a window that waits for the next epoch counts that waiting.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time

from millrace.common import Configuration
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.table import EnvironmentSettings, TableEnvironment

PARALLELISM = 2
KEYS = 100
QUERY = """
SELECT k, c, window_end FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c DESC) AS n
    FROM (SELECT k, window_start, window_end, COUNT(*) AS c
        FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND))
        WHERE v < 90 GROUP BY k, window_start, window_end))
WHERE n <= 3"""


def event(i: int) -> tuple[int, int, int]:
    return i * 7919 % KEYS, i % 100, time.time_ns() // 1_000_000


def source(rate: int, count: int) -> DataGeneratorSource[tuple[int, int, int]]:
    strategy = RateLimiterStrategy.per_second(rate)
    return DataGeneratorSource(event, count, strategy, splits=PARALLELISM)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=8, help="seconds that do not count")
    return parser.parse_args()


ARGS = arguments()
EVENTS = source(ARGS.rate, (ARGS.seconds + ARGS.warm_up) * ARGS.rate)


def main() -> None:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", ARGS.checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    config.set_string("parallelism.default", str(PARALLELISM))
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    t_env.execute_sql(
        "CREATE TABLE events (k INT, v INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
        "WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) "
        "WITH ('connector' = 'python', 'source' = '__main__:EVENTS')"
    )
    late: list[float] = []
    first = None
    windows = set()
    with t_env.execute_sql(QUERY).collect() as results:
        for row in results:
            seen = time.time() * 1000
            end = row.window_end.timestamp() * 1000
            first = end if first is None else first
            if end not in windows and end - first >= ARGS.warm_up * 1000 and end <= seen:
                late.append(round(seen - end, 1))
            windows.add(end)
    print(json.dumps({"rate": ARGS.rate, "late_ms": late}))


if __name__ == "__main__":
    main()
