"""A union that is keyed: one running sum per key over all its streams."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    streams = [env.from_collection([(key, 5)] * 3) for key in "aab"]
    return streams[0].union(streams[1], streams[2]).key_by(lambda pair: pair[0]).sum(1)
