"""Two aggregations after each other, with another key in between."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    records = [("eu", "at", 1), ("eu", "de", 2), ("eu", "at", 3), ("us", "ny", 4)]
    by_country = env.from_collection(records).key_by(lambda record: record[1]).sum(2)
    return by_country.key_by(lambda record: (record[0], record[1])).max(2)
