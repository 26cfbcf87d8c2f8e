"""A side output is a stream like any other: keyed and summed here, next to the main one."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

ODD = OutputTag("odd", Types.TUPLE([Types.STRING(), Types.LONG()]))


class Route(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, ("odd", value)
        else:
            yield value


def build(env: StreamExecutionEnvironment):
    main = env.from_collection(list(range(8))).process(Route(), output_type=Types.LONG())
    sums = main.get_side_output(ODD).key_by(lambda pair: pair[0]).sum(1)
    return main.map(lambda value: value + 100), sums
