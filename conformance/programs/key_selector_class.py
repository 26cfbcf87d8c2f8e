"""A `KeySelector` object, with a key type."""

from pyflink.common import Types
from pyflink.datastream import KeySelector, StreamExecutionEnvironment


class Length(KeySelector):
    def get_key(self, value):
        return len(value)


def build(env: StreamExecutionEnvironment):
    words = env.from_collection(["to", "be", "or", "not", "a"], type_info=Types.STRING())
    return words.key_by(Length(), key_type=Types.INT()).reduce(lambda a, b: a + "+" + b)
