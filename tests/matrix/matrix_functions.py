"""Functions of the smoke suite, which workers import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.common import Types, ValueStateDescriptor
from millrace.datastream import KeyedProcessFunction, ProcessWindowFunction, RuntimeContext
from statefun import IntType, StatefulFunctions, StringType, ValueSpec, egress_message_builder

functions = StatefulFunctions()


@functions.bind("smoke/greeter", [ValueSpec("seen", IntType)])
def greeter(context: Any, message: Any) -> None:
    context.storage.seen = (context.storage.seen or 0) + 1
    text = f"{context.address.id} {context.storage.seen}"
    context.send_egress(egress_message_builder("smoke/greetings", text, StringType))


class Count(KeyedProcessFunction[int, int, tuple[str, int, int]]):
    """Counts the records of a key, and tells the count again by an event-time timer."""

    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(
        self, value: int, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(1_000_000)
        yield "record", ctx.get_current_key(), count

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[str, int, int]]:
        yield "timer", ctx.get_current_key(), self.count.value() or 0


class Sum(ProcessWindowFunction[int, tuple[int, int, int], int, Any]):
    """Sums a window."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[Any], elements: Any
    ) -> Iterator[tuple[int, int, int]]:
        yield key, context.window().start, sum(elements)
