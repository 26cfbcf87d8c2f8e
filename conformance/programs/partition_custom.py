"""A custom partitioner: a class, and a callable; every record goes to exactly one partition."""

from pyflink.datastream import Partitioner, StreamExecutionEnvironment


class Modulo(Partitioner):
    def partition(self, key, num_partitions):
        return key % num_partitions


def build(env: StreamExecutionEnvironment):
    pairs = env.from_collection([(index, index * index) for index in range(10)])
    once = pairs.partition_custom(Modulo(), lambda pair: pair[0]).map(lambda pair: pair[1])
    return once.partition_custom(
        lambda key, num_partitions: min(key, num_partitions - 1), lambda value: value % 3
    ).map(lambda value: -value)
