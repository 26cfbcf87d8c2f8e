from __future__ import annotations

import pytest

from millrace.common import WatermarkStrategy
from millrace.common.errors import JobDefinitionError, JobExecutionError, SerializationError
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.connectors.rate_limiter import RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing import Faults, ManualClock, run_local


def numbers(count: int) -> list[int]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return list(env.from_collection(range(count)).rebalance().map(str).execute_and_collect())


def test_a_default_of_a_program_ends_with_its_cluster() -> None:
    with run_local():
        before = StreamExecutionEnvironment.get_default_local_parallelism()
        StreamExecutionEnvironment.set_default_local_parallelism(before + 1)
    with run_local():
        assert StreamExecutionEnvironment.get_default_local_parallelism() == before


def test_the_launcher_is_put_back() -> None:
    before = JobLauncher.current()
    with pytest.raises(ZeroDivisionError), run_local():  # noqa: PT012
        assert JobLauncher.current() is not before
        raise ZeroDivisionError
    assert JobLauncher.current() is before


def test_an_environment_from_outside_is_refused() -> None:
    """Its job would run on Spark without a word."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    with run_local(), pytest.raises(JobDefinitionError, match="made before run_local"):
        env.execute()


def test_small_epochs() -> None:
    with run_local(epoch_records=10) as cluster:
        assert len(numbers(95)) == 95
    assert [p.records for p in cluster.progress] == [*range(10, 100, 10), 95]


def test_a_job_that_does_not_end_is_stopped() -> None:
    with run_local(epoch_limit=5, epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment()
        source = DataGeneratorSource(lambda index: index)
        env.from_source(source, WatermarkStrategy.no_watermarks(), "endless").print()
        with pytest.raises(RuntimeError, match="after 5 epochs"):
            env.execute()


def test_rates_follow_the_manual_clock() -> None:
    clock = ManualClock(1_000)
    with run_local(clock=clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        source = DataGeneratorSource(
            lambda index: index, 100, RateLimiterStrategy.per_second(10), splits=1
        )
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "slow")
        assert list(stream.execute_and_collect()) == list(range(100))
    assert clock.now() == pytest.approx(11_000, abs=200)


def test_listeners_act_between_epochs() -> None:
    epochs: list[int] = []
    with run_local(epoch_records=1) as cluster:
        cluster.listeners.append(lambda progress: epochs.append(progress.epoch))
        numbers(3)
    assert epochs == [0, 1, 2]


def test_what_goes_to_the_workers_goes_by_value() -> None:
    env_lock = __import__("threading").Lock()
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([1]).map(lambda value: (env_lock, value)).name("locked")
        with pytest.raises(SerializationError, match="'locked'.*lock"):
            stream.execute_and_collect()


def test_faults_do_not_show() -> None:
    faults = Faults(lost_epochs=0.3, lost_workers=0.3, repeated_tasks=0.2, lost_buffers=0.1)
    with run_local(workers=3, seed=7, faults=faults, epoch_records=5) as cluster:
        assert sorted(numbers(60), key=int) == [str(n) for n in range(60)]
    assert cluster.progress[-1].refused > 0


def test_faults_without_end_fail_the_job() -> None:
    with (
        run_local(faults=Faults(lost_epochs=1, in_a_row=100)),
        pytest.raises(JobExecutionError, match="lost 6 times in a row"),
    ):
        numbers(1)
