from collections.abc import Iterator

from millrace.common import Duration, Types, WatermarkStrategy
from millrace.connectors import FileSource
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueState, ValueStateDescriptor
from millrace.formats import StreamFormat


class ClicksPerUser(KeyedProcessFunction[str, str, tuple[str, int]]):  # it was Count
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("count", Types.LONG())
        self.clicks: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: str, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        self.clicks.update((self.clicks.value() or 0) + 1)
        yield value, self.clicks.value() or 0


class Leader(KeyedProcessFunction[int, tuple[str, int], str]):  # it is new
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("most", Types.LONG())
        self.most: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: tuple[str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[str]:
        if value[1] > (self.most.value() or 0):
            self.most.update(value[1])
            yield f"{value[0]} leads with {value[1]} clicks"


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
users = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "clicks",
).uid("clicks")
known = users.filter(lambda user: user != "robot").uid("no robots")  # so is this
by_user = known.key_by(lambda user: user, key_type=Types.STRING())
counts = by_user.process(ClicksPerUser()).uid("count")
counts.key_by(lambda count: 0, key_type=Types.INT()).process(Leader()).uid("leader").print()
env.execute("clicks")
