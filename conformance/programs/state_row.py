"""Value and list state of a row type."""

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

PERSON = Types.ROW([Types.STRING(), Types.INT()])


class Oldest(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.oldest = runtime_context.get_state(ValueStateDescriptor("oldest", PERSON))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", PERSON))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        self.all.add(Row(value[1], value[2]))
        oldest = self.oldest.value()
        if oldest is None or oldest[1] < value[2]:
            self.oldest.update(Row(value[1], value[2]))
        yield value[0], self.oldest.value()[0], [row[0] for row in self.all]


def build(env: StreamExecutionEnvironment):
    people = [("x", "Ann", 3), ("x", "Bob", 7), ("y", "Cid", 1), ("x", "Dan", 5)]
    return env.from_collection(people).key_by(lambda person: person[0]).process(Oldest())
