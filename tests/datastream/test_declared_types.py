"""Row types of collections and outputs: what comes next finds rows with these names."""

from __future__ import annotations

import pytest

from millrace.common import Row, Types
from millrace.datastream import (
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.testing import run_local

SIZES = Types.ROW_NAMED(["word", "size"], [Types.STRING(), Types.INT()])
TAG = OutputTag("other", Types.STRING())
WORDS = ["to", "four"]
EXPECTED = [("four", 4), ("to", 2)]


class Sized(MapFunction):
    def map(self, value):
        return value, len(value)


class SizedKeyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value, len(value)
        yield TAG, value


class SizedPlain(ProcessFunction):
    def process_element(self, value, ctx):
        yield Row(value, len(value))


class SizedBoth(CoMapFunction):
    def map1(self, value):
        return value, len(value)

    map2 = map1


class SizedWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        return [(element, len(element)) for element in elements]


def by_word(words):
    return words.key_by(lambda word: word)


PROGRAMS = {
    "map": lambda words: words.map(Sized(), SIZES),
    "keyed map": lambda words: by_word(words).map(Sized(), SIZES),
    "flat_map": lambda words: words.flat_map(lambda w: [(w, len(w))], SIZES),
    "process": lambda words: words.process(SizedPlain(), SIZES),
    "keyed process": lambda words: by_word(words).process(SizedKeyed(), SIZES),
    "connected": lambda words: (
        words.filter(lambda w: w == "to")
        .connect(words.filter(lambda w: w != "to"))
        .map(SizedBoth(), SIZES)
    ),
    "window": lambda words: by_word(words).count_window(1).process(SizedWindow(), SIZES),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_outputs_have_the_names_of_their_type(program) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        rows = program(env.from_collection(WORDS))
        found = rows.map(lambda row: (row.word, row["size"])).execute_and_collect()
        assert sorted(found) == EXPECTED


def test_collections_have_the_names_of_their_type() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        rows = env.from_collection([("to", 2), {"word": "four", "size": 4}], type_info=SIZES)
        found = rows.key_by(lambda row: row.word).sum("size").execute_and_collect()
        assert sorted(map(tuple, found)) == EXPECTED


def test_side_outputs_stay_as_they_are() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        main = by_word(env.from_collection(WORDS)).process(SizedKeyed(), SIZES)
        assert sorted(main.get_side_output(TAG).execute_and_collect()) == ["four", "to"]
