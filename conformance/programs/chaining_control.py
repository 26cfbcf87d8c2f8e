"""Names, uids and chaining control leave the results alone."""

from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    stream = env.from_collection([1, 2, 3]).map(lambda value: value + 1).name("plus one").uid("a")
    stream = stream.map(lambda value: value * 2).start_new_chain().uid("b")
    stream = stream.filter(lambda value: value != 6).disable_chaining()
    return stream.map(lambda value: value - 1).set_parallelism(1)
