"""`min_by` and `max` on rows of a named type."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    type_info = Types.ROW_NAMED(
        ["key", "price", "shop"], [Types.STRING(), Types.DOUBLE(), Types.STRING()]
    )
    rows = [("tea", 2.5, "A"), ("tea", 1.5, "B"), ("tea", 1.5, "C"), ("jam", 3.0, "A")]
    keyed = env.from_collection(rows, type_info=type_info).key_by(lambda row: row.key)
    return keyed.min_by("price"), keyed.max("price").map(lambda row: (row.key, row.price, row.shop))
