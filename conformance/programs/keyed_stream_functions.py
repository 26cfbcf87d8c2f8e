"""`map`, `flat_map` and `filter` on a keyed stream, with state in a map function."""

from pyflink.common import Types
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Numbered(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def map(self, value):
        seen = self.seen.value()
        seen = 1 if seen is None else seen + 1
        self.seen.update(seen)
        return value, seen


def build(env: StreamExecutionEnvironment):
    keyed = env.from_collection(list("abacaba")).key_by(lambda letter: letter)
    numbered = keyed.map(Numbered())
    plain = keyed.flat_map(lambda letter: [letter] * 2).key_by(lambda letter: letter)
    return numbered, plain.filter(lambda letter: letter != "a")
