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


def test_side_outputs_have_the_names_of_their_tags_type() -> None:
    tag = OutputTag("sizes", SIZES)

    class Aside(ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, (value, len(value))
            yield TAG, value

    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        main = env.from_collection(WORDS).process(Aside())
        rows = main.get_side_output(tag).map(lambda row: (row.word, row.size))
        others = main.get_side_output(TAG).map(lambda word: (word, 0))
        found = sorted(rows.union(others).execute_and_collect())
        assert found == sorted([*EXPECTED, ("four", 0), ("to", 0)])


UNNAMED = {
    "reduce": lambda rows: rows.key_by(lambda row: row.word).reduce(lambda a, b: Row("x", 9)),
    "window reduce": lambda rows: (
        rows.key_by(lambda row: row.word).count_window(2).reduce(lambda a, b: Row("x", 9))
    ),
}


@pytest.mark.parametrize("program", UNNAMED.values(), ids=UNNAMED)
def test_a_reduce_keeps_the_type_of_its_records(program) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        rows = env.from_collection([("a", 1), ("a", 2)], type_info=SIZES).filter(lambda row: True)
        found = list(program(rows).map(lambda row: (row.word, row.size)).execute_and_collect())
        assert found[-1] == ("x", 9)


def test_streams_know_their_declared_type() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_collection([("a", 1)], type_info=SIZES)
    numbers = env.from_collection([1])
    assert rows.get_type() == rows.filter(bool).get_type() == SIZES
    assert rows.key_by(0).sum(1).get_type() == SIZES
    assert rows.union(rows.filter(bool)).get_type() == SIZES
    assert rows.union(numbers).get_type() == numbers.get_type() == Types.PICKLED_BYTE_ARRAY()
    assert rows.map(len).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert rows.map(len, Types.INT()).get_type() == Types.INT()
    assert rows.process(SizedPlain()).get_side_output(TAG).get_type() == Types.STRING()
