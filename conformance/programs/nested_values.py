"""Tuples in tuples, lists, dicts, None, bytes, floats and long integers pass through."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    records = [
        (1, (2, [3, None])),
        {"a": 1, "b": [1.5, float(2**60)]},
        b"\x00\xff",
        2**100,
        "zwölf \U0001f40d",
        True,
    ]
    return env.from_collection(records).map(lambda value: (value, type(value).__name__))
