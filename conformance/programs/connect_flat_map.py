"""`CoFlatMapFunction`: any number of records from either side."""

from pyflink.datastream import CoFlatMapFunction, StreamExecutionEnvironment


class Both(CoFlatMapFunction):
    def flat_map1(self, value):
        for index in range(value):
            yield value, index

    def flat_map2(self, value):
        return [(letter, 0) for letter in value]


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection([0, 1, 3])
    return numbers.connect(env.from_collection(["to", "", "be"])).flat_map(Both())
