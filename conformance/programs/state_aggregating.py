"""Aggregating state: an accumulator inside, a result outside."""

from pyflink.common import Types
from pyflink.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import AggregatingStateDescriptor


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Averages(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        type_info = Types.TUPLE([Types.INT(), Types.INT()])
        descriptor = AggregatingStateDescriptor("average", Average(), type_info)
        self.average = runtime_context.get_aggregating_state(descriptor)

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.average.add(value[1])
        yield value[0], self.average.get()
        if value[1] == 0:
            self.average.clear()


def build(env: StreamExecutionEnvironment):
    records = [("a", 4), ("a", 7), ("b", 1), ("a", 0), ("b", 10), ("a", 3)]
    return env.from_collection(records).key_by(lambda record: record[0]).process(Averages())
