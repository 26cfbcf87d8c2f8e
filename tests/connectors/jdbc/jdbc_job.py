"""Numbers to keyed state to two tables, exactly once: the n-th number of a word gives (word, n).

``counts`` has the last of each word; ``log`` has them all and no key, so what is doubled shows.

Usage: ``jdbc_job.py NUMBERS DIRECTORY (local | spark)``. Resumes what it finds. The database's URL
is in the environment variable DATABASE_URL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from databases import COUNT, Database
from resumed_job import SMALL_EPOCHS, run_resumed

from millrace.common import Row, Types, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.connectors.jdbc import JdbcSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor

WORDS = 7


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterable[Row]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(f"word-{value % WORDS}", count)


def build(env: StreamExecutionEnvironment, database: Database, numbers: int) -> None:
    source = NumberSequenceSource(0, numbers - 1, splits=2)
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "read").uid("read")
    counted = read.key_by(lambda number: number % WORDS).process(Count(), COUNT).uid("count")
    counted.sink_to(database.count_sink()).uid("counts")
    log = JdbcSink.builder().with_table("log").with_type_info(COUNT)
    counted.sink_to(log.build_exactly_once(database.options)).uid("log")


def main(numbers: str, directory: str, where: str) -> None:
    settings = {
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.interval": "1 ms",
        "millrace.epoch.min-interval": "40 ms",  # so that commits fall in between
        **SMALL_EPOCHS,
    }
    database = Database(os.environ["DATABASE_URL"])
    build_it = partial(build, database=database, numbers=int(numbers))
    run_resumed("numbers-to-tables", build_it, settings, where)


if __name__ == "__main__":
    main(*sys.argv[1:])
