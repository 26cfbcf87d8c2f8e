"""Rows with names: by attribute, by key, and as a dict."""

from pyflink.common import Row
from pyflink.datastream import StreamExecutionEnvironment


def read(row):
    return row.name, row["age"], sorted(row.as_dict().items()), "age" in row


def build(env: StreamExecutionEnvironment):
    return env.from_collection([Row(name="Ann", age=11), Row(name="Bob", age=12)]).map(read)
