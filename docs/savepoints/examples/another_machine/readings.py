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


class Highest(KeyedProcessFunction[str, list[str], str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[float] = ValueStateDescriptor("highest", Types.DOUBLE())
        self.highest: ValueState[float] = runtime_context.get_state(descriptor)

    def process_element(self, value: list[str], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        highest = self.highest.value()
        if highest is None or float(value[1]) > highest:
            self.highest.update(float(value[1]))
            yield f"{value[0]}: {value[1]} is a new high"


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
lines = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "readings",
).uid("readings")
readings = lines.map(lambda line: line.split()).uid("parse")
readings.key_by(lambda r: r[0], key_type=Types.STRING()).process(Highest()).uid("highest").print()
env.execute("readings")
