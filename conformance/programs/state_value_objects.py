"""Value state of any object, pickled: changed and set again."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Words(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("words", Types.PICKLED_BYTE_ARRAY())
        self.words = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        words = self.words.value() or {"seen": set(), "count": 0}
        words["seen"].add(value)
        words["count"] += 1
        self.words.update(words)
        yield sorted(words["seen"]), words["count"]


def build(env: StreamExecutionEnvironment):
    words = env.from_collection(["to", "be", "or", "not", "to", "be", "to"])
    return words.key_by(len).process(Words())
