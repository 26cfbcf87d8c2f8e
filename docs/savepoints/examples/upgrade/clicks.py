from collections.abc import Iterator
from dataclasses import dataclass

from millrace.common import Duration, Types, WatermarkStrategy
from millrace.connectors import FileSource
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueState, ValueStateDescriptor
from millrace.formats import StreamFormat


@dataclass
class Clicks:
    count: int = 0


class Count(KeyedProcessFunction[str, list[str], tuple[str, int]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[Clicks] = ValueStateDescriptor("clicks", Types.of(Clicks))
        self.count: ValueState[Clicks] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: list[str], ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        clicks = self.count.value() or Clicks()
        clicks.count += 1
        self.count.update(clicks)
        yield value[0], clicks.count


class Milestone(KeyedProcessFunction[str, tuple[str, int], str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("seen", Types.LONG())
        self.seen: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: tuple[str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[str]:
        if value[1] % 2 == 0:
            self.seen.update(value[1])
            yield f"{value[0]} has clicked {value[1]} times"


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
lines = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "clicks",
).uid("clicks")
by_user = lines.map(str.split).uid("split").key_by(lambda c: c[0], key_type=Types.STRING())
counts = by_user.process(Count()).uid("count")
again = counts.key_by(lambda count: count[0], key_type=Types.STRING())
again.process(Milestone()).name("milestone").uid("milestone").print()
env.execute("clicks")
