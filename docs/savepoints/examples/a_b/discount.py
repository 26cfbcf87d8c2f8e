import sys
from collections.abc import Iterator

from millrace.common import Duration, Encoder, Types, WatermarkStrategy
from millrace.connectors import FileSink, FileSource, RollingPolicy
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueState, ValueStateDescriptor
from millrace.formats import StreamFormat

RULE, OUTPUT = sys.argv[1:]
Sale = tuple[str, int]  # customer, euros


class Discount(KeyedProcessFunction[str, Sale, str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("sum", Types.LONG())
        self.sum: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(self, value: Sale, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        before = self.sum.value() or 0
        self.sum.update(before + value[1])
        percent = (10 if before >= 100 else 0) if RULE == "a" else min(before // 25, 12)
        yield f"{value[0]} pays {value[1] * (100 - percent) / 100:.2f}"


def parse(line: str) -> Sale:
    customer, amount = line.split(",")
    return customer, int(amount)


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
lines = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "sales",
).uid("sales")
sales = lines.map(parse).uid("parse").key_by(lambda sale: sale[0], key_type=Types.STRING())
prices = sales.process(Discount()).uid("discount")
prices.print()
output = FileSink.for_row_format(OUTPUT, Encoder.simple_string_encoder())
rolling = RollingPolicy.on_checkpoint_rolling_policy()
prices.sink_to(output.with_rolling_policy(rolling).build()).uid("files")
env.execute("discount")
