"""Aggregations on records that are lists."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    lists = env.from_collection([["a", 1], ["b", 7], ["a", 2], ["a", 4]])
    return lists.key_by(lambda record: record[0]).sum(1).map(tuple)
