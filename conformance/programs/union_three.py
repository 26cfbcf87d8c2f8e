"""`union` keeps every record of every stream, also of the same stream twice."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    first = env.from_collection([1, 2])
    second = env.from_collection([2, 3]).map(lambda value: value * 10)
    third = env.from_collection([7])
    return first.union(second, third, second)
