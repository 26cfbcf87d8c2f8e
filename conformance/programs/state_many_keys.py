"""State of many keys: 120 of them, several records each, in no order."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

KEYS = 120


class Track(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.sum.update((self.sum.value() or 0) + value)
        self.all.add(value)
        if len(list(self.all)) == 3:
            yield ctx.get_current_key(), self.sum.value(), list(self.all)


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection([(i * 7919) % 1009 for i in range(360)], type_info=Types.LONG())
    return numbers.key_by(lambda value: value % KEYS, key_type=Types.LONG()).process(Track())
