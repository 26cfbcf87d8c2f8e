"""`sum` on a stream of numbers, of which the only field is 0."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection([1, 2, 3, 4, 5], type_info=Types.INT())
    return numbers.key_by(lambda value: value % 2).sum()
