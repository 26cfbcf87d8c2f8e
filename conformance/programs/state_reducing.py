"""Reducing state, with a function and with a `ReduceFunction`; None when it is empty."""

from pyflink.common import Types
from pyflink.datastream import (
    KeyedProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ReducingStateDescriptor


class Largest(ReduceFunction):
    def reduce(self, value1, value2):
        return max(value1, value2)


class Totals(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.INT())
        largest = ReducingStateDescriptor("largest", Largest(), Types.INT())
        self.total = runtime_context.get_reducing_state(total)
        self.largest = runtime_context.get_reducing_state(largest)

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        before = self.total.get()
        self.total.add(value[1])
        self.largest.add(value[1])
        yield value[0], before, self.total.get(), self.largest.get()
        if self.total.get() > 9:
            self.total.clear()


def build(env: StreamExecutionEnvironment):
    records = [("a", 4), ("a", 7), ("b", 1), ("a", 2), ("b", 10), ("b", 3)]
    return env.from_collection(records).key_by(lambda record: record[0]).process(Totals())
