"""List state: add, add_all, update, iteration, clear; empty when nothing is in it."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor


class Buffer(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.buffer = runtime_context.get_list_state(ListStateDescriptor("buffer", Types.INT()))

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        key, command, number = value
        if command == "add":
            self.buffer.add(number)
        elif command == "all":
            self.buffer.add_all([number, number + 1])
        elif command == "set":
            self.buffer.update([number] * 3)
        else:
            self.buffer.clear()
        yield key, command, list(self.buffer), sum(self.buffer.get())


def build(env: StreamExecutionEnvironment):
    commands = [
        ("a", "add", 1),
        ("b", "all", 5),
        ("a", "all", 2),
        ("a", "set", 7),
        ("b", "clear", 0),
        ("a", "add", 9),
        ("b", "add", 4),
        ("a", "clear", 0),
    ]
    return env.from_collection(commands).key_by(lambda command: command[0]).process(Buffer())
