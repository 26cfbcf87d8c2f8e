"""Where records go: custom partitioners, rescale, global."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import DataStream, MapFunction, Partitioner, StreamExecutionEnvironment
from millrace.runtime.exchange import served_by
from millrace.testing import Faults, run_local


class Where(MapFunction):
    """Which subtask a record came to."""

    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return value, self.subtask


class From(MapFunction):
    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return self.subtask, value


class Shifted(Partitioner):
    """What `open` makes is used by `partition`."""

    def __init__(self, shift):
        self.shift = shift
        self.ready = False

    def open(self, runtime_context):
        assert runtime_context.get_task_name() == "Numbers"
        self.ready = True

    def close(self):
        self.ready = False

    def partition(self, key, num_partitions):
        assert self.ready
        return (key + self.shift) % num_partitions


@pytest.fixture
def env():
    with run_local(2, 3, faults=Faults(0.2, 0.3, 0.1, 0.1), epoch_records=5, buffer_records=2):
        yield StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)


def numbers(env, parallelism: int = 2) -> DataStream:
    stream = env.from_collection(list(range(12))).rebalance().map(int)
    return stream.set_parallelism(parallelism).name("Numbers")


def collected(stream) -> list:
    return sorted(stream.execute_and_collect())


@pytest.mark.parametrize(
    "partitioner",
    [
        Shifted(1),
        lambda key, targets: (key + 1) % targets,
        lambda key, targets: np.int64((key + 1) % targets),
    ],
    ids=["object", "callable", "numpy"],
)
@pytest.mark.parametrize("selector", [lambda value: value * 10, abs])
def test_a_custom_partitioner(env, partitioner, selector) -> None:
    spread = numbers(env).partition_custom(partitioner, selector).map(Where())
    assert collected(spread) == [(n, (selector(n) + 1) % 3) for n in range(12)]


@pytest.mark.parametrize("bad", [3, -1, "1", None, 1.0])
def test_a_target_that_does_not_exist(bad) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
        stream = numbers(env).partition_custom(lambda key, targets: bad, lambda value: (value,))
        with pytest.raises(UserFunctionError) as failure:
            list(stream.map(Where()).execute_and_collect())
    assert f"to partition {bad!r}; it must give a whole number from 0 to 2" in str(failure.value)
    assert "partition_custom after Numbers" in str(failure.value)
    assert failure.value.record is not None


def test_a_key_selector_that_fails_shows_the_record() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
        stream = env.from_collection([1, 0, 2]).partition_custom(lambda k, n: 0, lambda v: 1 // v)
        with pytest.raises(UserFunctionError, match="ZeroDivisionError") as failure:
            list(stream.map(Where()).execute_and_collect())
    assert failure.value.record == "0"


def test_what_is_refused(env) -> None:
    stream = env.from_collection([1])
    with pytest.raises(JobDefinitionError, match="takes a Partitioner or a callable, got 5"):
        stream.partition_custom(5, abs)
    with pytest.raises(JobDefinitionError, match="pass an instance"):
        stream.partition_custom(Shifted, abs)
    with pytest.raises(JobDefinitionError, match="key"):
        stream.partition_custom(Shifted(1), 1.5)
    for method in ("rescale", "global_"):
        with pytest.raises(JobDefinitionError, match=rf"{method}\(\) on a keyed stream would"):
            getattr(stream.key_by(abs), method)()
    with pytest.raises(JobDefinitionError, match="partition_custom.. on a keyed stream would"):
        stream.key_by(abs).partition_custom(Shifted(1), abs)


def test_global(env) -> None:
    assert collected(numbers(env).global_().map(Where())) == [(n, 0) for n in range(12)]


@pytest.mark.parametrize(("producers", "targets"), [(2, 4), (4, 2), (1, 3), (3, 1), (2, 3), (3, 2)])
def test_rescale_serves_every_target_from_near_it(env, producers, targets) -> None:
    stream = numbers(env, producers).map(From()).set_parallelism(producers)
    spread = stream.rescale().map(Where()).set_parallelism(targets)
    found = list(spread.execute_and_collect())
    assert sorted(value for (_, value), _ in found) == list(range(12))
    served = [served_by(channel, producers, targets) for channel in range(producers)]
    assert {target for range_ in served for target in range_} == set(range(targets))
    assert all(target in served[source] for (source, _), target in found)
    if producers < targets:
        assert max(map(len, served)) <= -(-targets // producers)
    else:
        assert set(map(len, served)) == {1}
        shares = Counter(next(iter(range_)) for range_ in served)
        assert max(shares.values()) - min(shares.values()) <= 1


def test_rescale_deals_in_turn() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection(list(range(12))).rescale().map(Where()).set_parallelism(3)
        found = Counter(target for _, target in stream.execute_and_collect())
    assert found == {0: 4, 1: 4, 2: 4}
