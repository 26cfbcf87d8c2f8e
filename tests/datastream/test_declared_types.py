"""Row types of collections and outputs: what comes next finds rows with these names."""

from __future__ import annotations

import pyarrow
import pytest

from millrace.common import Row, Types, WatermarkStrategy
from millrace.common.errors import SerializationError, UserFunctionError
from millrace.common.types.batch import ColumnBatch
from millrace.datastream import (
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.connectors.file_system import FileSource, StreamFormat
from millrace.runtime.declared_output import declared_output
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


# -- what is not of its type -------------------------------------------------------------------


PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
TYPED = {
    "map": lambda words: words.map(lambda w: (w, w), PAIR),
    "flat_map": lambda words: words.flat_map(lambda w: [(w, w)], PAIR),
    "row": lambda words: words.map(lambda w: (w, w), SIZES),
    "keyed process": lambda words: by_word(words).process(SizedKeyed(), Types.STRING()),
    "window": lambda words: (
        by_word(words).count_window(1).process(SizedWindow(), Types.TUPLE([Types.LONG()] * 2))
    ),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_record_of_another_type_fails_the_job(name: str) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = TYPED[name](env.from_collection(["a"])).name("Typed")
        with pytest.raises(UserFunctionError) as refused:
            list(stream.execute_and_collect())
    shown = str(refused.value)
    assert "operator 'Typed'" in shown
    assert "a record is declared as" in shown
    assert refused.value.record in ("('a', 'a')", "Row(word='a', size='a')", "('a', 1)")


def test_the_error_names_operator_field_and_record() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        pairs = [("a", 1), ("b", "2"), ("c", 3)]
        stream = env.from_collection(pairs).map(lambda pair: pair, PAIR).name("Prices")
        with pytest.raises(UserFunctionError) as refused:
            list(stream.execute_and_collect())
    shown = str(refused.value)
    assert "operator 'Prices'" in shown
    assert "field f1 is '2' (str), not LONG: ('b', '2')" in shown
    assert refused.value.record == "('b', '2')"


def test_side_outputs_are_checked() -> None:
    tag = OutputTag("n", Types.LONG())

    class Aside(ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, value

    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        side = env.from_collection([1, "2"]).process(Aside()).name("Aside").get_side_output(tag)
        with pytest.raises(UserFunctionError, match=r"'2' \(str\), not LONG") as refused:
            list(side.execute_and_collect())
    assert "operator 'Aside'" in str(refused.value)


def test_collections_are_checked_when_the_program_is_made() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(SerializationError, match=r"'2' \(str\), not LONG"):
        env.from_collection([1, "2"], Types.LONG())


def test_sources_are_checked(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        strategy = WatermarkStrategy.no_watermarks()
        stream = env.from_source(lines.build(), strategy, "lines", Types.LONG())
        with pytest.raises(UserFunctionError, match=r"'a' \(str\), not LONG") as refused:
            list(stream.execute_and_collect())
    assert "operator 'lines'" in str(refused.value)


def test_nothing_stands_between_operators_without_a_type() -> None:
    output = object()
    assert declared_output(output, None) is output
    assert declared_output(output, Types.PICKLED_BYTE_ARRAY()) is output


def columns(form: str, **fields) -> ColumnBatch:
    return ColumnBatch(pyarrow.record_batch(fields), form=form)


@pytest.mark.parametrize(
    ("type_info", "batch", "stay"),
    [
        (SIZES, columns("row", word=["a"], size=pyarrow.array([1], "int32")), True),
        (SIZES, columns("dict", word=["a"], size=pyarrow.array([1], "int32")), False),
        (SIZES, columns("row", word=["a"], size=[1]), False),
        (PAIR, columns("tuple", f0=["a"], f1=[1]), True),
        (Types.LONG(), columns("value", value=[1, None]), True),
        (Types.INT(), columns("value", value=[1, None]), False),
    ],
)
def test_columns_of_the_declared_types_stay_columns(type_info, batch, stay) -> None:
    class Kept:
        def emit(self, batch):
            self.batch = batch

    kept = Kept()
    declared_output(kept, type_info).emit(batch)
    assert (kept.batch is batch) == stay
    if not stay and type_info == SIZES:
        assert kept.batch.to_rows().values == [Row(word="a", size=1)]


def test_columns_of_other_types_are_refused() -> None:
    with pytest.raises(SerializationError, match=r"'a' \(str\), not LONG"):
        declared_output(object(), Types.LONG()).emit(columns("value", value=["a"]))
