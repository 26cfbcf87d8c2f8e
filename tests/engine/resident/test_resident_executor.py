"""Whole jobs on resident tasks in threads: real sockets, no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobExecutionError
from millrace.common.restart_strategy import RestartStrategies
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.resident_tasks import local_resident_executor

WORDS = ["to", "be", "or", "not", "to", "be"]
COUNTS = [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 1), ("to", 2)]


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2)))
    yield
    JobLauncher.install(before)


def environment(**settings: str) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("execution.runtime-mode", "STREAMING")
    for key, value in settings.items():
        config.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(2)


def counted(env: StreamExecutionEnvironment) -> list[tuple[str, int]]:
    words = env.from_collection(WORDS)
    counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    return sorted(counts.execute_and_collect())


def test_a_keyed_count() -> None:
    assert counted(environment()) == COUNTS


def test_a_function_that_fails_once_is_restarted(tmp_path: Path) -> None:
    marker = tmp_path / "failed"
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))

    def once(word: str) -> str:
        if word == "not" and not marker.exists():
            marker.touch()
            raise ValueError("the first time")
        return word

    counts = env.from_collection(WORDS).map(once).map(lambda w: (w, 1))
    summed = counts.key_by(lambda pair: pair[0]).sum(1)
    assert sorted(summed.execute_and_collect()) == COUNTS
    assert marker.exists()


def test_a_function_that_fails_ends_the_job_with_its_error() -> None:
    def fail(word: str) -> str:
        raise ValueError(f"not {word}")

    with pytest.raises(JobExecutionError, match="not to"):
        list(environment().from_collection(["to"]).map(fail).execute_and_collect())
