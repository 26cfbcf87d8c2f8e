"""`flat_map` with a generator, with a method that returns a list, and with nothing to emit."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def letters(word):
    for letter in word:
        if letter != "o":
            yield letter, len(word)


def build(env: StreamExecutionEnvironment):
    lines = env.from_collection(["to be or", "not to be", "", "oo"], type_info=Types.STRING())
    words = lines.flat_map(lambda line: line.split(" "), output_type=Types.STRING())
    return words.flat_map(letters)
