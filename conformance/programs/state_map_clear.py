"""Map state that is cleared and filled again, next to a list that is not."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor


class Batches(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        counts = MapStateDescriptor("counts", Types.STRING(), Types.INT())
        self.counts = runtime_context.get_map_state(counts)
        self.sizes = runtime_context.get_list_state(ListStateDescriptor("sizes", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.counts.put(value, (self.counts.get(value) or 0) + 1)
        if len(list(self.counts.keys())) == 3:
            self.sizes.add(sum(self.counts.values()))
            yield sorted(self.counts.items()), list(self.sizes.get())
            self.counts.clear()


def build(env: StreamExecutionEnvironment):
    letters = env.from_collection(list("aabcabacbbbcdeaf"))
    return letters.key_by(lambda letter: 0, key_type=Types.INT()).process(Batches())
