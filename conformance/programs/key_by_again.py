"""A keyed stream that is keyed again by what was computed for the first key."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    pairs = env.from_collection([("a", 1), ("b", 1), ("a", 1), ("c", 1), ("b", 1), ("a", 1)])
    counts = pairs.key_by(lambda pair: pair[0]).sum(1)
    how_often = counts.map(lambda pair: (pair[1], 1)).key_by(lambda pair: pair[0])
    return how_often.reduce(lambda a, b: (a[0], a[1] + b[1]))
