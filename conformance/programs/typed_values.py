"""Basic types declared on the way in and out."""

import datetime
from decimal import Decimal

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    type_info = Types.TUPLE(
        [
            Types.BOOLEAN(),
            Types.DOUBLE(),
            Types.BIG_DEC(),
            Types.SQL_DATE(),
            Types.LIST(Types.INT()),
            Types.MAP(Types.STRING(), Types.INT()),
        ]
    )
    day = datetime.date(2024, 2, 29)
    records = [
        (True, 0.1, Decimal("12.5"), day, [1, 2], {"x": 1}),
        (False, -3.0, Decimal("0.25"), day, [], {}),
    ]
    stream = env.from_collection(records, type_info=type_info)
    return stream.map(lambda r: (not r[0], r[1] * 2, r[2] + 1, r[3].isoformat(), r[4], r[5]))
