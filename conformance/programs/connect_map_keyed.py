"""A `CoMapFunction` on keyed streams: keyed state that both inputs share."""

from pyflink.common import Types
from pyflink.datastream import CoMapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor


class Count(CoMapFunction):
    def open(self, runtime_context: RuntimeContext):
        descriptor = MapStateDescriptor("counts", Types.STRING(), Types.INT())
        self.counts = runtime_context.get_map_state(descriptor)

    def _count(self, side):
        count = (self.counts.get(side) or 0) + 1
        self.counts.put(side, count)
        return count

    def map1(self, value):
        return "left", value[0], self._count("left")

    def map2(self, value):
        return "right", value, self._count("right")


def build(env: StreamExecutionEnvironment):
    left = env.from_collection([("a", 1), ("b", 1), ("a", 2)])
    right = env.from_collection(["a", "a", "c"])
    connected = left.connect(right).key_by(lambda pair: pair[0], lambda letter: letter)
    return connected.map(Count())
