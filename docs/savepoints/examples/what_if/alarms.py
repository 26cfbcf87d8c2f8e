import sys
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

LIMIT = int(sys.argv[1])


class Failures(KeyedProcessFunction[str, list[str], str]):
    """Failed logins in a row, per user; a user who has too many is locked out."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("failures", Types.INT())
        self.failures: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(self, value: list[str], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        failures = 0 if value[1] == "ok" else (self.failures.value() or 0) + 1
        self.failures.update(failures)
        if failures:
            yield f"{value[0]} {'is locked out' if failures >= LIMIT else 'may try again'}"


env = StreamExecutionEnvironment.get_execution_environment()
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input")
lines = env.from_source(
    text.monitor_continuously(Duration.of_millis(100)).build(),
    WatermarkStrategy.no_watermarks(),
    "logins",
).uid("logins")
logins = lines.map(lambda line: line.split()).uid("parse")
by_user = logins.key_by(lambda login: login[0], key_type=Types.STRING())
by_user.process(Failures()).uid("failures").print()
env.execute("alarms")
