"""Connecting streams: which function goes with which streams."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.connected_streams import ConnectedStreams
from millrace.datastream.state import ValueStateDescriptor
from millrace.testing import run_local


class Sides(CoMapFunction):
    def map1(self, value):
        return 1, value

    def map2(self, value):
        return 2, value


class Twice(CoFlatMapFunction):
    def flat_map1(self, value):
        return [value, value]

    def flat_map2(self, value):
        return None


class Plain(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield 1, value

    def process_element2(self, value, ctx):
        yield 2, value


class Known(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.known = runtime_context.get_state(ValueStateDescriptor("known"))

    def process_element1(self, value, ctx):
        self.known.update(True)

    def process_element2(self, value, ctx):
        yield ctx.get_current_key(), self.known.value()


class CountingPlain(CoProcessFunction):
    """A function without keys in its name, with keyed state."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def _count(self, value):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()

    def process_element1(self, value, ctx):
        return self._count(value)

    def process_element2(self, value, ctx):
        return self._count(value)


@pytest.fixture
def env():
    with run_local():
        yield StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def connected(env) -> ConnectedStreams:
    return env.from_collection([1, 2]).connect(env.from_collection([2, 3]))


def collected(stream) -> list:
    return sorted(stream.execute_and_collect(), key=repr)


def test_without_keys(env) -> None:
    assert collected(connected(env).map(Sides())) == [(1, 1), (1, 2), (2, 2), (2, 3)]
    assert collected(connected(env).flat_map(Twice())) == [1, 1, 2, 2]
    assert collected(connected(env).process(Plain())) == [(1, 1), (1, 2), (2, 2), (2, 3)]


def test_keys_given_before_or_after_connecting(env) -> None:
    one, two = env.from_collection([1, 2]), env.from_collection([2, 3])
    before = one.key_by(abs).connect(two.key_by(abs)).process(Known())
    after = one.connect(two).key_by(abs, abs).process(Known())
    for stream in (before, after):
        found = dict(collected(stream))
        assert found.keys() == {2, 3}
        assert found[3] is None


def test_a_plain_function_on_keyed_streams_has_keyed_state(env) -> None:
    found = collected(connected(env).key_by(abs, abs).process(CountingPlain()))
    assert found == [(1, 1), (2, 1), (2, 2), (3, 1)]
    assert collected(connected(env).key_by(abs, abs).flat_map(Twice())) == [1, 1, 2, 2]


def test_a_stream_with_itself_and_unions(env) -> None:
    one, two = env.from_collection([1, 2]), env.from_collection([3])
    assert collected(one.connect(one).map(Sides())) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    both = one.union(two)
    assert collected(both.connect(two).map(Sides())) == [(1, 1), (1, 2), (1, 3), (2, 3)]
    keyed = both.connect(two.union(two)).key_by(abs, abs)
    assert collected(keyed.map(Sides())) == [(1, 1), (1, 2), (1, 3), (2, 3), (2, 3)]


def test_names_and_parallelism(env) -> None:
    made = connected(env)
    names = [made.map(Sides()), made.flat_map(Twice()), made.process(Plain())]
    assert [stream.get_name() for stream in names] == ["Co-Map", "Co-Flat Map", "Co-Process"]
    assert names[0]._transformation.parallelism == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda c: c.map(Twice()), r"map\(\) takes a CoMapFunction, got Twice"),
        (lambda c: c.map(len), r"map\(\) takes a CoMapFunction, got <built-in"),
        (lambda c: c.map(Sides), r"pass an instance: Sides\(\)"),
        (lambda c: c.flat_map(Sides()), r"flat_map\(\) takes a CoFlatMapFunction, got Sides"),
        (lambda c: c.process(Sides()), r"process\(\) takes a CoProcessFunction, got Sides"),
        (lambda c: c.process(Known()), "Known, which is a KeyedCoProcessFunction, on connected"),
        (lambda c: c.key_by(abs, abs).process(Sides()), r"takes a KeyedCoProcessFunction, got"),
        (lambda c: c.key_by(None, abs), "key_by takes a callable"),
    ],
)
def test_what_is_refused(env, build, message) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        build(connected(env))


def test_one_side_with_keys_is_not_enough(env) -> None:
    one, two = env.from_collection([1]), env.from_collection([2])
    with pytest.raises(JobDefinitionError, match="not both keyed; call key_by before it"):
        one.key_by(abs).connect(two).process(Known())


def test_two_environments(env) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(JobDefinitionError, match=r"connect\(\) takes streams of one job"):
        env.from_collection([1]).connect(other)
