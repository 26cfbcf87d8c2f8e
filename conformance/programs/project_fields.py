"""`project` of tuples: fields in the order asked for, one of them twice."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    type_info = Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE()])
    stream = env.from_collection([("a", 1, 0.5), ("b", 2, -1.25)], type_info=type_info)
    return stream.project(2, 0)
