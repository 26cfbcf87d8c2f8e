"""Tables of PostgreSQL to files, exactly once: each change of a row with its number.

Usage: ``cdc_job.py URL SLOT DIRECTORY (local | spark) (stream | end)``. Resumes what it finds;
with ``end`` it ends where the log ends when it begins.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from resumed_job import run_resumed
from wall_clock import WallClock

from millrace.common import Encoder, Row, Types, WatermarkStrategy
from millrace.connectors import BucketAssigner, FileSink, RollingPolicy
from millrace.connectors.postgres_cdc import PostgresCdcSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor


class Numbered(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> Iterable[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield json.dumps([count, value.get_row_kind().value, list(value)], default=str)


def build(env: StreamExecutionEnvironment, url: str, slot: str, directory: str) -> None:
    parts = urlsplit(url)
    source = (
        PostgresCdcSource.builder()
        .hostname(parts.hostname or "")
        .port(parts.port or 0)
        .database(parts.path[1:])
        .username(parts.username or "")
        .password(parts.password or "")
        .table_list("public.t")
        .slot_name(slot)
        .split_size(500)
        .build()
    )
    sink = (
        FileSink.for_row_format(f"{directory}/changes", Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "cdc").uid("cdc")
    numbered = rows.key_by(lambda row: row[0]).process(Numbered(), Types.STRING()).uid("number")
    numbered.sink_to(sink).uid("write")


def main(url: str, slot: str, directory: str, where: str, until: str) -> None:
    settings = {
        "execution.checkpointing.dir": f"{directory}/checkpoints",
        "execution.checkpointing.interval": "20 ms",
        "millrace.available-now": "true" if until == "end" else "false",
    }
    build_it = partial(build, url=url, slot=slot, directory=directory)
    run_resumed("capture", build_it, settings, where, clock=WallClock(), epoch_limit=1_000_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
