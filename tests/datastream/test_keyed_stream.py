from __future__ import annotations

from collections import namedtuple

import pytest

from millrace.common import Row, Time, Types
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import (
    KeyedProcessFunction,
    KeySelector,
    ReduceFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows, WindowAssigner
from millrace.testing import run_local

Point = namedtuple("Point", "name x")
PAIRS = [("a", 3), ("b", 1), ("a", 1), ("b", 5), ("a", 2)]


@pytest.fixture
def env():
    with run_local(workers=2, seed=3, epoch_records=2):
        yield StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def by_key(stream) -> dict:
    """Results per key, in order."""
    found: dict = {}
    for value in stream.execute_and_collect():
        found.setdefault(value[0], []).append(value[1])
    return found


class First(KeySelector):
    def get_key(self, value):
        return value[0]


@pytest.mark.parametrize("key", [0, First(), lambda v: v[0], (0,), [0]])
def test_keys(env, key) -> None:
    sums = env.from_collection(PAIRS).key_by(key).sum(1)
    assert by_key(sums) == {"a": [3, 4, 6], "b": [1, 6]}


@pytest.mark.parametrize(
    "make", [Point, lambda n, x: Row(name=n, x=x), lambda n, x: {"name": n, "x": x}]
)
def test_keys_and_fields_by_name(env, make) -> None:
    records = [make(*pair) for pair in PAIRS]
    maxima = env.from_collection(records).key_by("name").max("x")
    pairs = maxima.map(lambda r: (r["name"], r["x"]) if isinstance(r, dict) else tuple(r))
    assert by_key(pairs) == {"a": [3, 3, 3], "b": [1, 5]}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", {"a": [3, 4, 6], "b": [1, 6]}),
        ("min", {"a": [3, 1, 1], "b": [1, 1]}),
        ("max", {"a": [3, 3, 3], "b": [1, 5]}),
        ("min_by", {"a": [3, 1, 1], "b": [1, 1]}),
        ("max_by", {"a": [3, 3, 3], "b": [1, 5]}),
    ],
)
def test_rolling_aggregations(env, method, expected) -> None:
    assert by_key(getattr(env.from_collection(PAIRS).key_by(0), method)(1)) == expected


def test_reduce_keeps_going_over_epochs_and_workers(env) -> None:
    joined = env.from_collection([("a", str(n)) for n in range(10)]).key_by(0)
    result = joined.reduce(lambda x, y: (x[0], x[1] + y[1]))
    assert by_key(result)["a"][-1] == "0123456789"


def test_several_operators_on_one_keyed_stream_do_not_share_state(env) -> None:
    keyed = env.from_collection([("a", 1)] * 4).key_by(0)
    found = by_key(keyed.sum(1).map(lambda v: ("sum", v[1])).union(
        keyed.max(1).map(lambda v: ("max", v[1]))
    ))  # fmt: skip
    assert found == {"sum": [1, 2, 3, 4], "max": [1, 1, 1, 1]}


def test_the_same_function_object_at_parallelism_two(env) -> None:
    """Subtasks in one process must not open each other's function."""
    from millrace.datastream.state import ValueStateDescriptor

    class Count(KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def process_element(self, value, ctx):
            self.count.update((self.count.value() or 0) + 1)
            yield value, self.count.value()

    keys = list(range(20))
    found = by_key(env.from_collection(keys * 3).key_by(lambda v: v).process(Count()))
    assert found == {key: [1, 2, 3] for key in keys}


@pytest.mark.parametrize("method", ["rebalance", "shuffle", "broadcast", "forward"])
def test_repartitioning_a_keyed_stream_is_refused(env, method) -> None:
    with pytest.raises(JobDefinitionError, match=rf"{method}\(\) on a keyed stream would undo"):
        getattr(env.from_collection(PAIRS).key_by(0), method)()


@pytest.mark.parametrize(
    ("method", "argument"), [("name", "x"), ("uid", "x"), ("set_parallelism", 2)]
)
def test_a_keyed_stream_is_no_operator(env, method, argument) -> None:
    with pytest.raises(JobDefinitionError, match=rf"{method}\(\) on a keyed stream"):
        getattr(env.from_collection(PAIRS).key_by(0), method)(argument)


def test_window_takes_assigners_that_can_be_run(env) -> None:
    keyed = env.from_collection(PAIRS).key_by(0)
    with pytest.raises(JobDefinitionError, match=r"TumblingEventTimeWindows\.of"):
        keyed.window(Time.seconds(5))

    class Own(TumblingEventTimeWindows):
        def get_default_trigger(self, env=None):
            return None

    with pytest.raises(JobDefinitionError, match="default trigger"):
        keyed.window(Own(10)).reduce(max)
    assert issubclass(Own, WindowAssigner)


@pytest.mark.parametrize("selector", ["missing", 5])
def test_a_missing_field_names_key_and_record(env, selector) -> None:
    env.from_collection(PAIRS).key_by(selector).sum(1).print()
    with pytest.raises(UserFunctionError, match=r"key_by after Collection.*\('a', 3\)"):
        env.execute()


def test_reducing_strings_or_mixing_types_fails_with_the_record(env) -> None:
    env.from_collection([("a", 1), ("a", "x")]).key_by(0).sum(1).print()
    message = r"operator 'Sum' failed for the record \('a', 'x'\)"
    with pytest.raises(UserFunctionError, match=message):
        env.execute()


def test_a_list_keys_like_the_tuple_of_its_items(env) -> None:
    """Also within a tuple, and where fields are lists."""
    pairs = env.from_collection([(["a", 1], 1), (["b", 1], 2), (["a", 1], 3)])
    for selector in (lambda pair: [pair[0]], lambda pair: (1, pair[0]), 0):
        sums = pairs.key_by(selector).map(lambda pair: (str(pair[0]), pair[1])).key_by(0).sum(1)
        assert sorted(sums.execute_and_collect())[-1] == ("['b', 1]", 2)
    seen = pairs.key_by(lambda pair: [pair[0]]).process(KeyOf()).execute_and_collect()
    assert list(seen) == [(("a", 1),), (("b", 1),), (("a", 1),)]


class KeyOf(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key()


class Longest(ReduceFunction):
    """Reduces texts, and counts in its own state how often it was called for a key."""

    def open(self, runtime_context):
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.INT()))

    def reduce(self, value1, value2):
        self.calls.update((self.calls.value() or 0) + 1)
        return value1[0], f"{value1[1]}{value2[1]}{self.calls.value()}"


@pytest.mark.parametrize("mode", RuntimeExecutionMode)
def test_a_reduce_function_has_keyed_state(env, mode) -> None:
    """Its own for each key, from epoch to epoch, in batch mode too."""
    env.set_runtime_mode(mode)
    records = [("x", "a"), ("y", "b"), ("x", "c"), ("x", "d"), ("y", "e")]
    reduced = list(env.from_collection(records).key_by(0).reduce(Longest()).execute_and_collect())
    assert dict(reduced) == {"x": "ac1d2", "y": "be1"}
    assert len(reduced) == (5 if mode is RuntimeExecutionMode.STREAMING else 2)


def test_a_keyed_stream_is_collected_with_its_keys(env) -> None:
    """In the shape of PyFlink: rows of key and record."""
    keyed = env.from_collection(PAIRS).key_by(0)
    found = sorted(keyed.execute_and_collect(), key=lambda row: row.f1)
    assert found == [Row(f0=pair[0], f1=pair) for pair in sorted(PAIRS)]
    assert len(keyed.execute_and_collect(limit=2)) == 2
