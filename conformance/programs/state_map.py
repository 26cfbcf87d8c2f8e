"""Map state: its methods and its mapping protocol."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor


class Table(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        descriptor = MapStateDescriptor("table", Types.STRING(), Types.INT())
        self.table = runtime_context.get_map_state(descriptor)

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        _, name, number = value
        empty = self.table.is_empty()
        if number == 0:
            self.table.remove(name)
        elif self.table.contains(name):
            self.table[name] = self.table[name] + number
        else:
            self.table.put(name, number)
            self.table.put(name + name, -number)
        yield (
            ctx.get_current_key(),
            empty,
            self.table.get(name),
            sorted(self.table.items()),
            sorted(self.table.keys()),
            sorted(self.table.values()),
            sorted(self.table),
            name in self.table,
        )


def build(env: StreamExecutionEnvironment):
    records = [(1, "x", 1), (2, "x", 5), (1, "y", 2), (1, "x", 4), (1, "xx", 0), (2, "x", 0)]
    return env.from_collection(records).key_by(lambda record: record[0]).process(Table())
