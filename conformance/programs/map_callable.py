"""`map` with a lambda: without a type, records stay what they are."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    return env.from_collection([1, 2, 3, 3]).map(lambda value: (value, value * value))
