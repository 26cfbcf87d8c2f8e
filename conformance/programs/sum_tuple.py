"""`sum` on tuples: the other fields are those of the key's first record."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    records = [("a", 1, "first"), ("a", 2, "second"), ("b", -1, "first"), ("a", 0.5, "third")]
    return env.from_collection(records).key_by(lambda record: record[0]).sum(1)
