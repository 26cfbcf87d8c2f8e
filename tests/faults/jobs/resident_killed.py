"""A job on resident tasks of Spark, to be killed; prints a line of JSON after each epoch.

Usage: ``resident_killed.py PIPELINE DIRECTORY COUNT SETTINGS [SERVERS SOURCE SINK]``. Resumes what
it finds. PIPELINE is ``kafka`` (from Kafka to Kafka, exactly once), ``parquet`` (windows, to
Parquet files) or ``graph`` (results of a graph stream, to Parquet files); SETTINGS is JSON. Until
the file ``free`` is in the directory, each epoch reads a share of the numbers, and none reads the
last number; from Kafka, records are read slowly.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from millrace.common import Configuration, Row, RowKind, Types, WatermarkStrategy
from millrace.connectors import FileSink
from millrace.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import BucketAssigner
from millrace.datastream.job_launcher import JobLauncher
from millrace.datastream.window import TimeWindow, TumblingEventTimeWindows
from millrace.engine.job_details import JobDetails
from millrace.formats import ParquetBulkWriters
from millrace.graph.streams import GraphStream, added, removed
from millrace.testing.allowance import Allowance, AllowedNumbers

PARALLELISM = 2
KEYS = 97
WINDOW = 500
SHARE = 16
"""Numbers that an epoch may read."""
SLOWLY_S = 0.001
VERTICES = 40
EDGE_LIFE = 61
"""Changes after which an edge is removed."""
CHANGE_NAMES = ["result", "vertex", "value", "change"]
SETTINGS = {
    "millrace.executor": "resident",
    "millrace.resident.barrier-interval": "20 ms",
    "execution.checkpointing.interval": "200 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "100 ms",
}
"""Many epochs and commits, for kills to fall in between."""


def slowly(directory: Path) -> Callable[[Any], Any]:
    """A function that holds up each value a little, until the job is set free."""
    free = str(directory / "free")

    def hold_up(value: Any) -> Any:
        if not os.path.exists(free):
            time.sleep(SLOWLY_S)
        return value

    return hold_up


class Total(ProcessWindowFunction[Any, Any, int, TimeWindow]):
    def process(
        self,
        key: int,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[tuple[int, int, int]],
    ) -> Iterable[tuple[int, int, int, int]]:
        for _, count, total in elements:
            yield context.window().start, key, count, total


class HeldNumbers(Allowance):
    """The numbers that may be read: a share in each epoch, and all when the job has been set free.

    Args:
        directory: directory of the job.
        total: number of all numbers.
    """

    def __init__(self, directory: Path, total: int) -> None:
        self._free = str(directory / "free")
        self._total = total
        super().__init__(directory / "allowed", SHARE)

    @property
    def count(self) -> int:
        return self._total if self.has_ended else min(super().count, self._total - 1)

    @property
    def has_ended(self) -> bool:
        return os.path.exists(self._free)


def build_parquet(env: StreamExecutionEnvironment, held: HeldNumbers, directory: Path) -> None:
    """Windows over the numbers. Those of two splits are as many at the same event times."""
    timed: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
    timed = timed.with_timestamp_assigner(lambda number, _: number // PARALLELISM)
    numbers = env.from_source(AllowedNumbers(held, PARALLELISM), timed, "numbers").uid("numbers")
    pairs = numbers.map(lambda number: (number % KEYS, 1, number)).uid("pairs")
    keyed = pairs.key_by(lambda pair: pair[0])
    windows = keyed.window(TumblingEventTimeWindows.of(WINDOW))
    totals = windows.reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]), Total()).uid("windows")
    totals.sink_to(files(directory, ["start", "key", "count", "total"])).uid("files")


def files(directory: Path, names: list[str]) -> FileSink[Any]:
    """Parquet files with columns of whole numbers."""
    row_type = Types.ROW_NAMED(names, [Types.LONG()] * len(names))
    sink = FileSink.for_bulk_format(
        str(directory / "out"), ParquetBulkWriters.for_row_type(row_type)
    )
    return sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


def build_graph(env: StreamExecutionEnvironment, held: HeldNumbers, directory: Path) -> None:
    """Components and degrees of a graph whose edges come and go, as a changelog in files."""
    source = AllowedNumbers(held, PARALLELISM)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    graph = GraphStream(numbers.map(edge_change).uid("edges"))
    types = Types.TUPLE([Types.LONG()] * len(CHANGE_NAMES))
    components = graph.components().map(partial(signed, 0), types).uid("components")
    degrees = graph.degrees().map(partial(signed, 1), types).uid("degrees")
    components.union(degrees).sink_to(files(directory, CHANGE_NAMES)).uid("files")


def edge_change(number: int) -> Row:
    """A change of the graph: numbers of each split have vertices of their own, so that the order of
    the changes of an edge is certain. Odd ones remove what even ones have added some time ago."""
    place, part = divmod(number, PARALLELISM)
    is_added = place % 2 == 0
    dice = random.Random(place if is_added else place - EDGE_LIFE)
    source, target = (PARALLELISM * dice.randrange(VERTICES) + part for _ in range(2))
    return added(source, target) if is_added else removed(source, target)


def signed(result: int, row: Row) -> tuple[int, int, int, int]:
    """A row of a changelog, with the change of the number of such rows."""
    is_gone = row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE)
    return result, row[0], row[1], -1 if is_gone else 1


def expected_rows(count: int) -> Counter[tuple[int, int, int, int]]:
    """Rows that the files must have in the end."""
    sums: dict[tuple[int, int], list[int]] = {}
    for number in range(count):
        place = number // PARALLELISM // WINDOW * WINDOW, number % KEYS
        total = sums.setdefault(place, [0, 0])
        total[0] += 1
        total[1] += number
    return Counter((*place, *total) for place, total in sums.items())


def build_kafka(
    env: StreamExecutionEnvironment, directory: Path, servers: str, source: str, sink: str
) -> None:
    import kafka_job

    from millrace.connectors.kafka import KafkaOffsetsInitializer

    read = kafka_job.kafka(servers, source, KafkaOffsetsInitializer.earliest())
    kafka_job.build(env, read, servers, sink, slowly(directory))


def tell(progress: JobDetails) -> None:
    line = {"epochs": progress.epochs, "records": progress.records, "restarts": progress.restarts}
    print(json.dumps(line), flush=True)


def main(pipeline: str, directory: Path, count: int, settings: str, *topics: str) -> None:
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    held = HeldNumbers(directory, count)
    JobLauncher.install(JobLauncher(resume=True, listeners=[tell, held.grow()]))
    checkpoints = {"execution.checkpointing.dir": str(directory / "checkpoints")}
    configuration = Configuration({**SETTINGS, **checkpoints, **json.loads(settings)})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    if pipeline == "kafka":
        build_kafka(env, directory, *topics)
    elif pipeline == "graph":
        build_graph(env, held, directory)
    else:
        build_parquet(env, held, directory)
    env.execute(f"killed-{pipeline}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
