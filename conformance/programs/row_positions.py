"""Rows made by the program: positions, unpacking, length."""

from pyflink.common import Row
from pyflink.datastream import StreamExecutionEnvironment


def grow(row):
    first, second = row
    return Row(second, first, len(row), row[1] * 2)


def build(env: StreamExecutionEnvironment):
    return env.from_collection([Row("a", 1), Row("b", 2)]).map(grow)
