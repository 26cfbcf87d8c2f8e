"""A rolling reduce emits once per record, the first as it is."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    words = env.from_collection([("a", "x"), ("b", "y"), ("a", "z"), ("a", "x")])
    return words.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
