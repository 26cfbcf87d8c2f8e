from collections.abc import Iterator
from dataclasses import dataclass, field

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
    pages: list[str] = field(default_factory=list)  # it is new


class ClicksPerUser(KeyedProcessFunction[str, list[str], tuple[str, Clicks]]):  # it was Count
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[Clicks] = ValueStateDescriptor("clicks", Types.of(Clicks))
        self.clicks: ValueState[Clicks] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: list[str], ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, Clicks]]:
        clicks = self.clicks.value() or Clicks()
        clicks.count += 1
        clicks.pages.append(value[1])
        self.clicks.update(clicks)
        yield value[0], clicks


class Leader(KeyedProcessFunction[int, tuple[str, Clicks], str]):  # it is new
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("most", Types.LONG())
        self.most: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: tuple[str, Clicks], ctx: KeyedProcessFunction.Context
    ) -> Iterator[str]:
        user, clicks = value
        if clicks.count > (self.most.value() or 0):
            self.most.update(clicks.count)
            yield f"{user} leads with {clicks.count} clicks, of late on {', '.join(clicks.pages)}"


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
lines = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "clicks",
).uid("clicks")
clicks = lines.map(str.split).uid("split")
people = clicks.filter(lambda click: click[0] != "robot").uid("no robots")  # so is this
by_user = people.key_by(lambda click: click[0], key_type=Types.STRING())
counts = by_user.process(ClicksPerUser()).uid("count")
counts.key_by(lambda count: 0, key_type=Types.INT()).process(Leader()).uid("leader").print()
env.execute("clicks")
