"""Batch mode: a rolling aggregation gives only its last result per key."""

from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("b", -2), ("c", 0)])
    return pairs.key_by(lambda pair: pair[0]).sum(1)
