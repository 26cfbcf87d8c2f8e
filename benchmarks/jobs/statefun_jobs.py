"""What the jobs with Stateful Functions have in common: their environment, embedded functions, and
the delays that functions tell."""

from __future__ import annotations

import time
from array import array
from pathlib import Path
from typing import Any

import sdk_functions

from millrace.common import Configuration
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder
from millrace.statefun.types import decoded

PARALLELISM = 2
BATCH = 8
"""Most messages of an invocation."""


def environment(checkpoints: Path) -> StreamExecutionEnvironment:
    """Resident tasks, a checkpoint each second."""
    options = {
        "spark.master": "local[4,1000000]",
        "millrace.executor": "resident",
        "execution.checkpointing.dir": str(checkpoints),
        "execution.checkpointing.interval": "1 s",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    return env.set_parallelism(PARALLELISM)


def embedded(name: str, *ingresses: DataStream[Any]) -> StatefulFunctionDataStreamBuilder:
    """Builder of the functions in the workers, with their egress."""
    builder = StatefulFunctionDataStreamBuilder.builder(name)
    for ingress in ingresses:
        builder.with_data_stream_as_ingress(ingress)
    builder.with_function_provider("bench/*", sdk_functions.functions, BATCH)
    return builder.with_egress_id(sdk_functions.DELAYS)


class DelaysWriter(SinkWriter[Any]):
    """Writes the time of each delay, in seconds, and the delay in milliseconds."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, batch: RowBatch[Any]) -> None:
        now = time.time()
        written = array("d")
        for value in batch.values:
            written.extend((now, decoded(value) / 1000))
        self._file.write(written.tobytes())

    def close(self) -> None:
        self._file.close()


class DelaysSink(Sink[Any]):
    """Sink of the functions' egress. Writes a file per subtask."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create_writer(self, context: WriterContext, state: Any) -> DelaysWriter:
        return DelaysWriter(self._directory / f"delays-{context.subtask_index}")


def delays(directory: Path, since: float, until: float) -> list[float]:
    """Milliseconds of the delays that were written in a time."""
    found: list[float] = []
    for path in directory.glob("delays-*"):
        written = array("d")
        written.frombytes(path.read_bytes())
        pairs = zip(written[::2], written[1::2], strict=True)
        found += [round(ms, 3) for at, ms in pairs if since <= at <= until]
    return found
