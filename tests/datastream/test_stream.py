from __future__ import annotations

import json

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import Sink
from millrace.common.types.typeinfo import Types
from millrace.connectors.kafka import KafkaSink
from millrace.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from millrace.testing import run_local

ODD = OutputTag("odd")


class Upper(MapFunction):
    def map(self, value):
        return value.upper()


class Counting(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, value
        else:
            yield value


@pytest.fixture
def env():
    with run_local():
        yield StreamExecutionEnvironment.get_execution_environment()


def collected(stream) -> list:
    return sorted(stream.execute_and_collect(), key=repr)


def test_plain_callables_and_function_objects(env) -> None:
    words = env.from_collection(["a b", "c"])
    assert collected(words.flat_map(str.split).map(Upper())) == ["A", "B", "C"]
    assert collected(words.map(len).filter(lambda n: n > 1)) == [3]


def test_builtins_and_partials_are_callables(env) -> None:
    from functools import partial
    from operator import add, itemgetter

    pairs = env.from_collection([(1, "x"), (2, "y")])
    assert collected(pairs.map(itemgetter(0)).map(partial(add, 10))) == [11, 12]
    assert collected(pairs.map(str)) == ["(1, 'x')", "(2, 'y')"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.map(Upper), r"map\(\) got the class Upper; pass an instance: Upper\(\)"),
        (lambda s: s.map(Split()), r"map\(\) takes a MapFunction or a callable, got Split"),
        (lambda s: s.map(None), r"map\(\) takes a MapFunction or a callable, got None"),
        (lambda s: s.flat_map(Upper()), r"flat_map\(\) takes a FlatMapFunction or a callable"),
        (lambda s: s.filter("x > 1"), r"filter\(\) takes a FilterFunction or a callable, got 'x"),
        (lambda s: s.process(Counting()), "KeyedProcessFunction, on a stream without keys; call k"),
        (lambda s: s.process(lambda v: v), r"process\(\) takes a ProcessFunction, got <function"),
        (lambda s: s.union("x"), r"union\(\) takes streams, got 'x'"),
        (lambda s: s.key_by(1.5), "key_by takes a callable, a KeySelector, a field name"),
        (lambda s: s.get_side_output("odd"), "takes an OutputTag, got 'odd'"),
        (lambda s: s.sink_to(print), r"sink_to\(\) takes a Sink"),
        (lambda s: s.sink_to(KafkaSink.builder()), "not built yet: call its build"),
        (lambda s: s.map(str, Types.STRING), r"got Types.STRING: write Types.STRING\(\)"),
        (lambda s: s.map(str, output_type=str), r"such as Types.LONG\(\), got <class 'str'>"),
        (lambda s: s.key_by(str, key_type=Types.LONG), r"key_type .* write Types.LONG\(\)"),
        (lambda s: s.add_sink(5), r"add_sink\(\) takes a SinkFunction or a callable, got 5"),
        (lambda s: s.assign_timestamps_and_watermarks(5), "takes a WatermarkStrategy, got 5"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_when_the_program_is_built(env, build, message) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        build(env.from_collection([1]))


@pytest.mark.parametrize(
    "method", ["name", "uid", "set_description", "set_parallelism", "disable_chaining"]
)
@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.union(s),
        lambda s: s.rebalance(),
        lambda s: s.process(Split()).get_side_output(ODD),
    ],
    ids=["union", "rebalance", "side output"],
)
def test_what_changes_an_operator_needs_one(env, method, build) -> None:
    """On a union ``name`` would rename the operator of its first stream behind the user's back."""
    arguments = {"disable_chaining": (), "set_parallelism": (2,)}.get(method, ("x",))
    with pytest.raises(JobDefinitionError, match=rf"{method}\(\) changes one operator"):
        getattr(build(env.from_collection([1])), method)(*arguments)


def test_streams_of_two_environments_do_not_mix(env) -> None:
    other = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match="two environments"):
        env.from_collection([1]).union(other.from_collection([2]))


def test_union(env) -> None:
    one, two = env.from_collection([1, 2]), env.from_collection([3])
    assert collected(one.union(two, two, one.map(lambda v: -v))) == [-1, -2, 1, 2, 3, 3]
    assert collected(one.union(one)) == [1, 1, 2, 2]


def test_side_outputs(env) -> None:
    split = env.from_collection(range(6)).process(Split())
    odd = split.get_side_output(OutputTag("odd")).map(lambda v: ("odd", v))
    assert collected(split.union(odd)) == [("odd", 1), ("odd", 3), ("odd", 5), 0, 2, 4]


def test_a_side_output_nobody_wants_is_dropped(env) -> None:
    assert collected(env.from_collection(range(6)).process(Split())) == [0, 2, 4]


def test_names_and_descriptions(env) -> None:
    stream = env.from_collection([1]).map(str).name("text").uid("t").set_description("as text")
    assert stream.get_name() == "text"
    transformation = stream._transformation
    assert transformation.uid == "t"
    stream.print()
    nodes = {node["uid"]: node for node in json.loads(env.get_execution_plan())["nodes"]}
    assert (nodes["t"]["type"], nodes["t"]["contents"]) == ("text", "as text")
    others = [node for uid, node in nodes.items() if uid != "t"]
    assert [node["contents"] for node in others] == [node["type"] for node in others]


@pytest.mark.parametrize("method", ["rebalance", "shuffle", "broadcast", "forward"])
def test_partitionings_deliver(env, method) -> None:
    env.set_parallelism(3)
    source = env.from_collection(range(30)).rebalance().map(abs)
    copies = 3 if method == "broadcast" else 1
    assert collected(getattr(source, method)().map(abs)) == sorted(
        list(range(30)) * copies, key=repr
    )


def test_branches_do_not_see_each_others_changes(env) -> None:
    """Records are dicts, one branch changes them in place."""

    def mark(record):
        record["marked"] = True
        return record

    source = env.from_collection([{"n": n} for n in range(3)])
    marked, plain = source.map(mark), source.map(dict)
    found = collected(marked.union(plain))
    assert [record for record in found if "marked" not in record] == [{"n": n} for n in range(3)]
    assert len(found) == 6


def test_add_sink_takes_functions_and_sinks(env, tmp_path) -> None:
    out = tmp_path / "out.txt"

    class Append(SinkFunction):
        def __init__(self, path: str) -> None:
            self.path = path

        def invoke(self, value, context):
            with open(self.path, "a") as file:
                file.write(f"{value}\n")

    env.from_collection([1, 2]).add_sink(Append(str(out)))
    env.execute()
    assert out.read_text() == "1\n2\n"

    class Null(Sink):
        def create_writer(self, context, state):
            raise AssertionError("no records, no writer")

    assert env.from_collection([]).add_sink(Null())
    env.execute()
