"""Batch mode: extremes with ties; the first of the input wins."""

from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    records = [("a", 3, "x"), ("a", 1, "y"), ("a", 1, "z"), ("b", 2, "x"), ("b", 2, "w")]
    return env.from_collection(records).key_by(lambda record: record[0]).min_by(1)
