from __future__ import annotations

import pytest

from millrace.common import WatermarkStrategy
from millrace.common.job import JobStatus
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


@pytest.fixture
def env():
    with run_local(epoch_records=5):
        yield StreamExecutionEnvironment.get_execution_environment()


def endless(env):
    source = DataGeneratorSource(lambda index: index, splits=1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "endless")


def test_iterating_to_the_end(env) -> None:
    with env.from_collection(range(12)).execute_and_collect() as results:
        assert list(results) == list(range(12))
        assert list(results) == []


def test_a_limit_takes_the_first_and_cancels(env) -> None:
    assert endless(env).execute_and_collect(limit=7) == list(range(7))
    assert env.from_collection([1, 2]).execute_and_collect(limit=7) == [1, 2]
    assert env.from_collection([1, 2]).execute_and_collect(limit=0) == []


def test_closing_early_cancels(env) -> None:
    with endless(env).execute_and_collect("endless") as results:
        assert next(results) == 0
        client = results._client
    assert client is not None
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert list(results) == []
    results.close()


def test_a_failure_comes_out_of_the_iteration_after_what_was_committed(env) -> None:
    def fail(value):
        if value == 8:
            raise ValueError(value)
        return value

    results = env.from_collection(range(20)).map(fail).execute_and_collect()
    got = []
    with pytest.raises(Exception, match="operator 'Map' failed for the record 8"):
        got.extend(results)
    assert len([*got]) in (0, 5)


def test_two_jobs_at_once(env) -> None:
    one = env.from_collection(range(10)).execute_and_collect("one")
    two = env.from_collection(range(20)).execute_and_collect("two")
    assert len(list(two)) == 20
    assert len(list(one)) == 10


def test_print_names_subtasks_and_stream(env, capsys) -> None:
    env.from_collection(["a", "b"]).print("letters")
    env.execute()
    assert capsys.readouterr().out == "letters> a\nletters> b\n"
    env.from_collection(["a", "b"]).rebalance().print().set_parallelism(2)
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == ["1> a", "2> b"]
    env.from_collection(["a", "b"]).rebalance().print("x").set_parallelism(2)
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == ["x:1> a", "x:2> b"]


def test_next_is_a_method_too(env) -> None:
    """As in PyFlink."""
    with env.from_collection([1, 2]).execute_and_collect() as results:
        assert (results.next(), results.next()) == (1, 2)
        with pytest.raises(StopIteration):
            results.next()
