"""Tuples in a collection of a named row type arrive as rows."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    type_info = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    people = env.from_collection([("Ann", 11), ("Bob", 12)], type_info=type_info)
    return people.map(lambda person: (person.name, person["age"] + 1, person[0]))
