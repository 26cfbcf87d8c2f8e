"""Rebalance, rescale, shuffle and forward move records, they do not change them."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    stream = env.from_collection(list(range(12))).rebalance().map(lambda value: value + 1)
    stream = stream.rescale().map(lambda value: value * 2).shuffle()
    return stream.map(lambda value: value - 1).forward().map(lambda value: (value, value % 4))
