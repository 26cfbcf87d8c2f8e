"""Numbers to keyed state to two tables of Delta Lake or Iceberg, exactly once: the n-th number of
a word gives (word, n).

``counts`` has the last of each word; ``log`` has them all and no key, so what is doubled shows.

Usage: ``lake_job.py NUMBERS DIRECTORY (delta | iceberg)``. Resumes what it finds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from resumed_job import SMALL_EPOCHS, run_resumed

from millrace.common import Row, Types, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor

WORDS = 7
COUNT = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterable[Row]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(word=f"word-{value % WORDS}", n=count)


def catalog(directory: Path) -> dict[str, str]:
    """Properties of the catalog of the Iceberg tables."""
    (directory / "warehouse").mkdir(exist_ok=True)
    return {
        "name": "tests",
        "type": "sql",
        "uri": f"sqlite:///{directory}/catalog.db",
        "warehouse": f"file://{directory}/warehouse",
    }


def sink(kind: str, directory: Path, name: str, keys: Sequence[str] | None) -> Any:
    if kind == "delta":
        from millrace.connectors.delta import DeltaSink

        return DeltaSink(str(directory / "tables" / name), COUNT, upsert_keys=keys)
    from millrace.connectors.iceberg import IcebergSink

    return IcebergSink(f"shop.{name}", catalog(directory), COUNT, upsert_keys=keys)


def build(env: StreamExecutionEnvironment, numbers: int, directory: Path, kind: str) -> None:
    source = NumberSequenceSource(0, numbers - 1, splits=2)
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "read").uid("read")
    counted = read.key_by(lambda number: number % WORDS).process(Count(), COUNT).uid("count")
    counted.sink_to(sink(kind, directory, "counts", ["word"])).uid("counts")
    counted.sink_to(sink(kind, directory, "log", None)).uid("log")


def main(numbers: str, directory: str, kind: str) -> None:
    settings = {
        "execution.checkpointing.dir": f"{directory}/checkpoints",
        "execution.checkpointing.interval": "1 ms",
        "millrace.epoch.min-interval": "40 ms",  # so that commits fall in between
        **SMALL_EPOCHS,
    }
    build_it = partial(build, numbers=int(numbers), directory=Path(directory), kind=kind)
    run_resumed("numbers-to-tables", build_it, settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
