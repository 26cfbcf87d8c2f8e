"""Keys that are tuples; the context gives the key back."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key()[1], ctx.get_current_key()[0], count


def build(env: StreamExecutionEnvironment):
    trips = [("JFK", "LAX"), ("LAX", "JFK"), ("JFK", "LAX"), ("JFK", "SFO"), ("JFK", "LAX")]
    return env.from_collection(trips).key_by(lambda trip: (trip[0], trip[1])).process(Count())
