"""`filter` keeps records for which the result is true in Python's sense."""

from pyflink.datastream import FilterFunction, StreamExecutionEnvironment


class Odd(FilterFunction):
    def filter(self, value):
        return value % 2


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection(list(range(-5, 6)))
    return numbers.filter(Odd()).filter(lambda value: value > -4)
