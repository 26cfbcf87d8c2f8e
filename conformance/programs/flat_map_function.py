"""A `FlatMapFunction` that keeps something between records."""

from pyflink.datastream import FlatMapFunction, StreamExecutionEnvironment


class Repeat(FlatMapFunction):
    def flat_map(self, value):
        for index in range(value):
            yield value, index


def build(env: StreamExecutionEnvironment):
    return env.from_collection([3, 0, 1, 2]).flat_map(Repeat())
