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


class Count(KeyedProcessFunction[str, str, tuple[str, int]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("count", Types.LONG())
        self.count: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(
        self, value: str, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value() or 0


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
users = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "clicks",
).uid("clicks")
counts = users.key_by(lambda user: user, key_type=Types.STRING()).process(Count()).uid("count")
by_user = counts.key_by(lambda count: count[0], key_type=Types.STRING())
by_user.process(Milestone()).name("milestone").uid("milestone").print()
env.execute("clicks")
