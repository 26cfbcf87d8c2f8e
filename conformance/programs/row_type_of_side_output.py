"""A side output of a row type: its records have the names of the type."""

from pyflink.common import Row, Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

LONG = OutputTag("long", Types.ROW_NAMED(["word", "size"], [Types.STRING(), Types.INT()]))


class Split(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        if len(value) > 2:
            yield LONG, Row(value, len(value))
        else:
            yield value


def build(env: StreamExecutionEnvironment):
    words = env.from_collection(["to", "be", "four", "not"], type_info=Types.STRING())
    main = words.process(Split(), output_type=Types.STRING())
    return main, main.get_side_output(LONG).map(lambda row: (row.word, row.size))
