"""`min` and `max` keep the other fields of the first record, whichever had the extreme."""

from pyflink.datastream import StreamExecutionEnvironment

RECORDS = [("a", 3, "x"), ("a", 1, "y"), ("a", 5, "z"), ("b", 2, "x"), ("a", 1, "w"), ("b", 2, "v")]


def build(env: StreamExecutionEnvironment):
    keyed = env.from_collection(RECORDS).key_by(lambda record: record[0])
    return keyed.min(1), keyed.max(1)
