"""Alerts of the example ``payments_rings`` on resident tasks; tells how long each one took.

    python ring_alerts.py --checkpoint-dir DIR --rings N

Everyday transfers come first, then single rings of three accounts, some per second. The three
transfers of a ring are made at once, and its accounts have the time in their names. Prints one JSON
line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millrace.common import Configuration, RowKind, WatermarkStrategy
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import Batch
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "payments_rings"
PARALLELISM = 2
PER_SECOND = 20
NAME = "P"
"""First letter of the accounts of rings; their names go on with the time."""
TIMED = 0.5
"""Share of the rings that is timed: the last ones, when the job has started."""


def ring(number: int) -> list[tuple[str, str, int, int]]:
    """Transfers of a ring that is closed now."""
    now = time.time()
    names = [f"{NAME}{now:.6f}{letter}" for letter in "abc"]
    return [(name, names[n - 2], 100, int(1000 * now)) for n, name in enumerate(names)]


def as_transfers(made: Any) -> Iterator[Any]:
    from transfers import Transfer

    return (Transfer(*transfer) for transfer in made)


class AlertsWriter(SinkWriter[Any]):
    """Notes how long the first alert of each ring took, in ms, and when its ring was closed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._closed: dict[float, float] = {}

    def write(self, batch: Batch) -> None:
        now = time.time()
        for row in batch.to_rows().values:
            is_new = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            if is_new and row[0].startswith(NAME):
                closed = float(row[0][1:-1])
                self._closed.setdefault(closed, 1000 * (now - closed))

    def flush(self, end_of_input: bool) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps(list(self._closed.items())) + "\n")
        self._closed = {}


class AlertsSink(Sink[Any]):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def create_writer(self, context: WriterContext, state: Any) -> AlertsWriter:
        return AlertsWriter(os.path.join(self._directory, f"alerts-{context.subtask_index}"))


def run(directory: Path, output: Path, rings: int) -> None:
    sys.path.insert(0, str(EXAMPLE))
    from rings import alerts
    from transfers import transfers

    config = Configuration()
    config.set_string("execution.checkpointing.dir", str(directory / "c"))
    config.set_string("execution.checkpointing.interval", "1 s")
    config.set_string("millrace.executor", "resident")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    for module in ("rings.py", "transfers.py"):
        env.add_python_file(str(EXAMPLE / module))
    everyday: DataStream[Any] = env.from_collection([[tuple(one)] for one in transfers()])
    pace = RateLimiterStrategy.per_second(PER_SECOND)
    source = DataGeneratorSource(ring, count=rings, splits=1, rate_limiter_strategy=pace)
    closed = env.from_source(source, WatermarkStrategy.no_watermarks(), "rings")
    both = everyday.set_parallelism(1).union(closed.set_parallelism(1))
    table = alerts(both.flat_map(as_transfers))
    StreamTableEnvironment.create(env).to_changelog_stream(table).sink_to(AlertsSink(str(output)))
    env.execute("alerts of rings")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--rings", type=int, required=True)
    args = parser.parse_args()
    directory = Path(args.checkpoint_dir)
    output = directory / "out"
    output.mkdir()
    run(directory, output, args.rings)
    lines = [json.loads(line) for path in output.iterdir() for line in path.open()]
    first: dict[float, float] = {}
    for closed, delay in (pair for line in lines for pair in line):
        first[closed] = min(delay, first.get(closed, delay))
    delays = [delay for _, delay in sorted(first.items())]
    timed = delays[-round(TIMED * args.rings) :]
    print(json.dumps({"rings": args.rings, "found": len(first), "delays": timed}))


if __name__ == "__main__":
    main()
