"""Extremes of plain values: numbers and strings."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection([4, 2, 7, 3, 1, 8], type_info=Types.INT())
    words = env.from_collection(["be", "not", "to", "or"], type_info=Types.STRING())
    return (
        numbers.key_by(lambda value: value % 2).min(),
        numbers.key_by(lambda value: value % 2).max(),
        words.key_by(lambda word: 0).max_by(),
        words.key_by(lambda word: 0).min(),
    )
