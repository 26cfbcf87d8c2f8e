"""A `MapFunction` that is opened before its first record."""

from pyflink.common import Types
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment


class Scale(MapFunction):
    def __init__(self, factor):
        self.factor = factor
        self.offset = None

    def open(self, runtime_context: RuntimeContext):
        self.offset = 100

    def map(self, value):
        return value[0].upper(), value[1] * self.factor + self.offset


def build(env: StreamExecutionEnvironment):
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    return pairs.map(Scale(10), output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
