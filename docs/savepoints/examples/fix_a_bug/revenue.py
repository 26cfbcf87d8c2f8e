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

Order = tuple[str, int]  # customer, euros


def parse(line: str) -> Order:
    customer, amount = line.split(",")
    return customer, int(amount.removeprefix("refund "))  # oops


class Revenue(KeyedProcessFunction[str, Order, str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("sum", Types.LONG())
        self.sum: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(self, value: Order, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.sum.update((self.sum.value() or 0) + value[1])
        yield f"{value[0]}: {self.sum.value()}"


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
lines = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "orders",
).uid("orders")
orders = lines.map(parse).key_by(lambda order: order[0], key_type=Types.STRING())
orders.process(Revenue()).name("revenue").uid("revenue").print()
env.execute("revenue")
