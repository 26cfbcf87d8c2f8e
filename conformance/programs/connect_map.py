"""`CoMapFunction`: each input has its own method, and there is one output."""

from pyflink.common import Types
from pyflink.datastream import CoMapFunction, StreamExecutionEnvironment


class Both(CoMapFunction):
    def map1(self, value):
        return f"number {value}"

    def map2(self, value):
        return value.upper()


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    words = env.from_collection(["to", "be"], type_info=Types.STRING())
    return numbers.connect(words).map(Both(), output_type=Types.STRING())
