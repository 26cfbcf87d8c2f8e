"""A join of three tables through Spark: in one run, and in two with a savepoint and twice the
parallelism in between.

    python sql_rescaled_join.py --rows N --checkpoint-dir DIR

N rows in all are in the join's state at the end. The first table is joined to the left, so that
rows are taken back; what a run gives is added up by group. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

from millrace.common import Configuration
from millrace.table import EnvironmentSettings, TableEnvironment

GROUPS = 997
QUERY = f"""
SELECT MOD(o.k, {GROUPS}) AS g, COUNT(*) AS n, COUNT(p.v) AS paid,
  SUM(o.v + 3 * COALESCE(p.v, 0) + 7 * s.v) AS total
FROM orders o LEFT JOIN payments p ON o.k = p.k JOIN shipments s ON o.k = s.k
GROUP BY MOD(o.k, {GROUPS})
"""


def environment(rows: int, parallelism: int, directory: Path, start_from: str) -> TableEnvironment:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", str(directory))
    config.set_string("execution.checkpointing.interval", "0 ms")
    # of so many epochs that the savepoint is somewhere in the middle
    for key in ("initial-records-per-split", "max-records-per-split"):
        config.set_string(f"millrace.epoch.{key}", str(rows // 100))
    config.set_string("parallelism.default", str(parallelism))
    if start_from:
        config.set_string("execution.state-recovery.path", start_from)
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    t_env = TableEnvironment.create(settings.with_configuration(config).build())
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE n (i BIGINT) WITH ('connector' = 'datagen', "
        "'rows-per-second' = '1000000000', 'fields.i.kind' = 'sequence', "
        f"'fields.i.start' = '0', 'fields.i.end' = '{rows - 1}')"
    )
    for rest, (name, factor) in enumerate((("orders", 1), ("payments", 7919), ("shipments", 31))):
        size = f"CAST({rows // 3} AS BIGINT)"
        key = f"MOD(i / 3 * {factor} + {rest}, {size})"
        t_env.execute_sql(
            f"CREATE TEMPORARY VIEW {name} AS SELECT {key} AS k, i AS v FROM n "
            f"WHERE MOD(i, 3) = {rest} AND NOT (MOD(i, 15) = 1)"
        )
    return t_env


class Run:
    """One run of the query, whose changes are added up.

    Args:
        table: what earlier runs gave, to which the changes are added.
        stop_at: rows read after which it ends with a savepoint; None: it runs to its end.
    """

    def __init__(
        self,
        rows: int,
        parallelism: int,
        directory: Path,
        table: Counter[tuple[Any, ...]],
        stop_at: int | None = None,
        start_from: str = "",
    ) -> None:
        self.savepoint, self.savepoint_seconds, self.records = "", 0.0, 0
        start = time.perf_counter()
        result = environment(rows, parallelism, directory, start_from).execute_sql(QUERY)
        self._client: Any = result.get_job_client()
        asking = Thread(target=self._stop, args=(directory, stop_at), daemon=True)
        if stop_at is not None:
            asking.start()
        self.first_seconds = 0.0
        with result.collect() as found:
            for row in found:
                self.first_seconds = self.first_seconds or time.perf_counter() - start
                table[tuple(row)] += -1 if row.get_row_kind().value in (1, 3) else 1
        if stop_at is not None:
            asking.join()
        self.seconds = time.perf_counter() - start

    def _stop(self, directory: Path, stop_at: int) -> None:
        while self._client.progress().records < stop_at:
            time.sleep(0.05)
        start = time.perf_counter()
        path = str(directory / "savepoint")
        self.savepoint = self._client.stop_with_savepoint(savepoint_directory=path).result()
        self.savepoint_seconds = time.perf_counter() - start
        self.records = self._client.progress().records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--checkpoint-dir", type=Path, required=True)
    args = parser.parse_args()
    whole: Counter[tuple[Any, ...]] = Counter()
    Run(30_000, 2, args.checkpoint_dir / "warm-up", Counter())
    uninterrupted = Run(args.rows, 2, args.checkpoint_dir / "whole", whole)
    parts: Counter[tuple[Any, ...]] = Counter()
    # each of the three tables reads the sequence; two more epochs run until it has stopped
    before = Run(args.rows, 2, args.checkpoint_dir / "before", parts, int(args.rows * 0.75))
    after = Run(args.rows, 4, args.checkpoint_dir / "after", parts, start_from=before.savepoint)
    files = Path(before.savepoint.removeprefix("file://")).rglob("*")
    report = {
        "rows": args.rows,
        "groups": len(+whole),
        "wrong": sum(((whole - parts) + (parts - whole)).values()),
        "negative": -sum(count for count in parts.values() if count < 0),
        "uninterrupted": uninterrupted.seconds,
        "before": before.seconds,
        "after": after.seconds,
        "savepoint_seconds": before.savepoint_seconds,
        "savepoint_bytes": sum(file.stat().st_size for file in files if file.is_file()),
        "restored_after": after.first_seconds,
        "read_before": before.records / (3 * args.rows),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
