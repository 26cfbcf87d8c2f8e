"""The engine under random faults: whatever happens, the outputs are those of a plain loop."""

from __future__ import annotations

import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import fault_pipeline as pipeline
import pytest
from drawn import job_examples
from fault_cluster import FaultyCluster
from fault_drivers import run_driver
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.config.restart_strategy import RestartStrategies
from millrace.common.errors import JobExecutionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.filesystem import crash_points as crash

DEADLY = ("after-acks", "before-sink-commit", "during-sink-commit", "after-deltas")


class DriverDied(BaseException):
    """Stands for the death of the driver: the job manager is abandoned where it is."""


class ImpatientClock:
    """Each look at it takes a millisecond; waiting takes no time."""

    def __init__(self) -> None:
        self.time = 1_000_000

    def now(self) -> int:
        self.time += 1
        return self.time

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        self.time = max(self.time, at or 0)


class World:
    """All that happens in one example, decided by its seed."""

    def __init__(
        self, directory: str, seed: int, rate: float, interval: int, parallelism: int
    ) -> None:
        self.directory = Path(directory)
        self.random = random.Random(seed)
        self.rate = rate
        self.interval = interval
        self.parallelism = parallelism
        self.count = self.random.randint(1, 500)
        self.splits = self.random.randint(1, 4)
        self.inline_limit = self.random.choice((200, 1 << 20))
        self.clock = ImpatientClock()
        self.calm = False

    def stumble(self, value: pipeline.Value) -> pipeline.Value:
        """The user function in the middle: fails now and then."""
        if not self.calm and self.random.random() < self.rate / 300:
            raise ValueError("stumbled")
        return value

    def pass_crash_point(self, name: str) -> None:
        if not self.calm and name in DEADLY and self.random.random() < self.rate / 5:
            raise DriverDied(name)

    def client(self) -> EmbeddedJobClient:
        """One more driver for the same job directory."""
        rate = 0.0 if self.calm else self.rate
        cluster = FaultyCluster(self.random.getrandbits(32), rate)
        JobLauncher.install(JobLauncher(resume=True, clock=self.clock, executor=lambda *_: cluster))
        configuration = pipeline.small_epochs(
            self.directory / "checkpoints", self.interval, inline_limit=self.inline_limit
        )
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(self.parallelism)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1_000_000, 0))
        out = str(self.directory / "out")
        pipeline.build(env, out, self.count, self.splits, self.stumble)
        return env.build_client(pipeline.JOB_NAME)

    def run(self, drivers: int = 12) -> None:
        """Resume until the job has finished; the last of the drivers has no bad luck."""
        for left in reversed(range(drivers)):
            self.calm = left == 0
            client = self.client()
            client.run()
            try:
                client.result()
            except (DriverDied, JobExecutionError):
                assert not self.calm
                continue
            break
        pipeline.check_output(self.directory / "out", self.count, self.splits)


histories = given(
    seed=st.integers(0, 1 << 32),
    rate=st.sampled_from((0.0, 0.1, 0.4)),
    interval=st.sampled_from((0, 30)),
    parallelism=st.integers(1, 3),
)


def live_through(seed: int, rate: float, interval: int, parallelism: int) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        world = World(directory, seed, rate, interval, parallelism)
        # nothing here outlives the machine, and flushing is most of the time
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(crash, "_TRAPS", {("any", 1): True})
        patch.setattr(crash, "_pass", world.pass_crash_point)
        world.run()


@histories
@settings(max_examples=job_examples(10), deadline=None)
def test_any_history_gives_the_plain_result(
    seed: int, rate: float, interval: int, parallelism: int
) -> None:
    """Lost epochs, mixed attempts, lost acks, zombies, failing functions, dying drivers."""
    live_through(seed, rate, interval, parallelism)


@pytest.mark.torture
@histories
@settings(max_examples=500, deadline=None)
def test_any_history_gives_the_plain_result_at_length(
    seed: int, rate: float, interval: int, parallelism: int
) -> None:
    live_through(seed, rate, interval, parallelism)


@pytest.mark.turns(5)
@pytest.mark.parametrize("fault", ["producer ran again", "buffer lost", "ack lost", "ack doubled"])
def test_what_does_not_fit_together_is_refused(fault: str, tmp_path: Path) -> None:
    """Among other things: a producer runs twice and reads differently; some consumers get the one,
    some the other."""
    refused = 0
    for seed in range(job_examples(2)):
        cluster = FaultyCluster(seed, rate=0.5, size=1, faults=(fault,), tasks=(2, None))
        client = run_driver(tmp_path / str(seed), 300, cluster=cluster)
        refused += client.progress().refused
        pipeline.check_output(tmp_path / str(seed) / "out", 300, 3)
    assert refused > 0
