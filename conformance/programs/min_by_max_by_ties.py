"""`min_by` and `max_by` give whole records, of several equal ones the first."""

from pyflink.datastream import StreamExecutionEnvironment

RECORDS = [("a", 3, "x"), ("a", 1, "y"), ("a", 1, "z"), ("a", 3, "w"), ("b", 2, "x"), ("b", 2, "v")]


def build(env: StreamExecutionEnvironment):
    keyed = env.from_collection(RECORDS).key_by(lambda record: record[0])
    return keyed.min_by(1), keyed.max_by(1)
