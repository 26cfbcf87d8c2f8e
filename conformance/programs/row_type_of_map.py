"""The output type of a map gives its rows their names."""

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment):
    named = Types.ROW_NAMED(["word", "size"], [Types.STRING(), Types.INT()])
    words = env.from_collection(["to", "be", "four"])
    rows = words.map(lambda word: Row(word, len(word)), output_type=named)
    return rows.map(lambda row: (row.word, row.size)).union(
        rows.key_by(lambda row: row.size).sum("size").map(lambda row: (row.word, -row.size))
    )
