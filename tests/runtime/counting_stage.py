"""A stage that counts per key, to be driven as an executor does, with two producers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.job_graph.stages import build_job_graph
from millrace.runtime.buffer import Buffer, BufferKind, end_of
from millrace.runtime.epoch import Ack
from millrace.runtime.program import Program
from millrace.state.serialization.payload import decode, encode_records
from millrace.state.state_delta import StateDelta

MIN, MAX = -(2**63), 2**63 - 1
ODD = OutputTag("odd")


class Count(KeyedProcessFunction):
    """Counts per key; sets a processing-time timer; remembers on itself what it saw."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = 0

    def process_element(self, value, ctx):
        if value == "bad":
            raise ValueError("bad")
        self.seen += 1
        self.count.update((self.count.value() or 0) + 1)
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 10)
        yield value, self.count.value(), self.seen, service.current_watermark()

    def on_timer(self, timestamp, ctx):
        yield "timer", ctx.get_current_key(), timestamp


def program(parallelism: int = 2) -> Program:
    """source -> key_by -> Count -> collect; the second stage is what is tested."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    source = env.from_collection([]).set_parallelism(parallelism)
    sink = source.key_by(lambda value: value).process(Count())._collecting("Collect")
    return build_job_graph([sink], "run", "job", max_parallelism=128).program


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def produced(channel: int, values=(), watermark: int = MIN, idle: bool = False) -> Iterator[Buffer]:
    for sequence, value in enumerate(values):
        payload = encode_records([value], None)
        yield Buffer(0, 0, channel, 5, sequence, BufferKind.RECORDS, MIN, 1, payload)
    yield end_of(0, 0, channel, 5, watermark, idle, [len(values)])


def results(ack: Ack) -> list[Any]:
    assert ack.failure is None, ack.failure
    return [value for payload in ack.results.values() for value in decode(payload)]
