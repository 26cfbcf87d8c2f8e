"""A flat map on a keyed stream emits a pair whenever two records of a key have come."""

from pyflink.common import Types
from pyflink.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Average(FlatMapFunction):
    """The count-window average of Flink's documentation."""

    def open(self, runtime_context: RuntimeContext):
        type_info = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.sum = runtime_context.get_state(ValueStateDescriptor("average", type_info))

    def flat_map(self, value):
        count, total = self.sum.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self.sum.update((count, total))
        if count >= 2:
            self.sum.clear()
            yield value[0], total // count


def build(env: StreamExecutionEnvironment):
    pairs = env.from_collection([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)])
    return pairs.key_by(lambda pair: pair[0]).flat_map(Average())
