"""Batch mode: the result of a reduce, keyed again, reduced again."""

from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    words = env.from_collection(["to", "be", "or", "not", "to", "be"]).map(lambda word: (word, 1))
    counts = words.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    sizes = counts.map(lambda pair: (pair[1], 1)).key_by(lambda pair: pair[0])
    return sizes.reduce(lambda a, b: (a[0], a[1] + b[1]))
