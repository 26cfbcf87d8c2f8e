from collections.abc import Iterator
from typing import Any

from millrace.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

BROKEN: OutputTag[str] = OutputTag("broken")
LARGE: OutputTag[int] = OutputTag("large")


class Sort(ProcessFunction[str, int]):
    def process_element(
        self, value: str, ctx: ProcessFunction.Context
    ) -> Iterator[int | tuple[OutputTag[Any], Any]]:
        if not value.isdecimal():
            yield BROKEN, value
            return
        yield int(value)
        if int(value) > 100:
            yield LARGE, int(value)


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection(["7", "seven", "700"]).process(Sort())
numbers.print("number")
numbers.get_side_output(BROKEN).print("broken")
numbers.get_side_output(LARGE).map(lambda number: number * 10).print("large")
env.execute("sort")
