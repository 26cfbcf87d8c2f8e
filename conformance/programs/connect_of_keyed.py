"""Two streams that are keyed already, connected; a flat map with state of the first side."""

from pyflink.common import Types
from pyflink.datastream import CoFlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ReducingStateDescriptor


class Totals(CoFlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        descriptor = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        self.total = runtime_context.get_reducing_state(descriptor)

    def flat_map1(self, value):
        self.total.add(value[1])
        yield value[0], self.total.get()

    def flat_map2(self, value):
        yield value[0], "seen"


def build(env: StreamExecutionEnvironment):
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda pair: pair[0])
    right = env.from_collection([("a", 0), ("c", 0)]).key_by(lambda pair: pair[0])
    return left.connect(right).flat_map(Totals())
