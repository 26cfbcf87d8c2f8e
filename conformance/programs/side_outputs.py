"""Two side outputs of one process function, and what stays in the main output."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

EVEN = OutputTag("even", Types.LONG())
BIG = OutputTag("big", Types.STRING())


class Split(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        if value % 2 == 0:
            yield EVEN, value
        if value > 5:
            yield BIG, f"big {value}"
        if value % 3 == 0:
            yield value


def build(env: StreamExecutionEnvironment):
    main = env.from_collection(list(range(10))).process(Split(), output_type=Types.LONG())
    return main, main.get_side_output(EVEN), main.get_side_output(BIG)
