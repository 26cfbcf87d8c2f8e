"""`sum` on rows, by the field's name and by its position."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    type_info = Types.ROW_NAMED(["key", "value"], [Types.STRING(), Types.INT()])
    rows = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    keyed = env.from_collection(rows, type_info=type_info).key_by(lambda row: row[0])
    return keyed.sum("value"), keyed.sum(1)
