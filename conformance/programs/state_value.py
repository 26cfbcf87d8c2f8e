"""Value state: None until it is set, after `clear`, and again a value."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Last(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        before = self.last.value()
        if value[1] < 0:
            self.last.clear()
        else:
            self.last.update(value[1])
        yield ctx.get_current_key(), before, self.last.value()


def build(env: StreamExecutionEnvironment):
    records = [("a", 1), ("b", 0), ("a", -1), ("a", 2), ("b", 3), ("a", 4)]
    return env.from_collection(records).key_by(lambda record: record[0]).process(Last())
