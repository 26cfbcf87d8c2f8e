"""The small job whose first output the start-up bar waits for."""

from __future__ import annotations

from millrace.datastream import StreamExecutionEnvironment

LINES = ["to be or not to be", "that is the question"]

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
(
    env.from_collection(LINES)
    .flat_map(lambda line: [(word, 1) for word in line.split()])
    .key_by(lambda pair: pair[0])
    .reduce(lambda a, b: (a[0], a[1] + b[1]))
    .print("first")
)
env.execute("hello")
