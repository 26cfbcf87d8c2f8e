"""A `ReduceFunction` on rows of a named type."""

from pyflink.common import Row, Types
from pyflink.datastream import ReduceFunction, StreamExecutionEnvironment


class Latest(ReduceFunction):
    def reduce(self, value1, value2):
        return Row(value1[0], max(value1[1], value2[1]), value1[2] + value2[2])


def build(env: StreamExecutionEnvironment):
    type_info = Types.ROW_NAMED(
        ["key", "time", "count"], [Types.STRING(), Types.LONG(), Types.INT()]
    )
    rows = [("a", 5, 1), ("b", 2, 1), ("a", 3, 1), ("a", 9, 1)]
    stream = env.from_collection(rows, type_info=type_info)
    return stream.key_by(lambda row: row.key).reduce(Latest())
