"""kill -9 of drivers that keep all on a real S3 server, HDFS or an emulator of Google's or of
Azure's store, and two drivers at once."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable

import fault_pipeline as pipeline
import pytest
from fault_cluster import FaultyCluster
from fault_drivers import driver, job_dir, run_driver
from fault_lives import Lives

from millrace.common.errors import LeaseLostError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.executor import EpochHooks
from millrace.engine.lease import Lease
from millrace.filesystem.registry import file_system_of
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.state.checkpoint.directory import complete_checkpoints

pytestmark = pytest.mark.fault

Drivers = Callable[..., Lives]
POINTS = (
    "after-segment",
    "after-acks",
    "after-deltas",
    "during-metadata",
    "after-metadata",
    "during-retention",
    "before-sink-commit",
)


@pytest.fixture(
    params=[
        "s3",
        *(pytest.param(name, marks=pytest.mark.connectors) for name in ("gcs", "azure", "hdfs")),
    ]
)
def root(request: pytest.FixtureRequest) -> str:
    """An empty directory of a storage without locks."""
    found: str = request.getfixturevalue(f"{request.param}_root")
    return found


def check(root: str, lives: Lives, count: int) -> None:
    assert lives.drivers[-1].status == 0, lives.errors
    pipeline.check_output(f"{root}/out", count, 3)


@pytest.mark.turns(7)
def test_killed_at_places(live_and_die: Drivers, root: str) -> None:
    """One driver after the other; the next does not wait for the lease of the dead."""
    traps = [f"{point}:{1 + n % 3}" for n, point in enumerate(POINTS)]
    lives = live_and_die([*traps, ""], directory=root, look=False, count=500)
    assert [life.status for life in lives.drivers[:-1]] == [-signal.SIGKILL] * len(traps)
    check(root, lives, 500)


@pytest.mark.turns(7)
def test_killed_at_places_on_resident_tasks(live_and_die: Drivers, root: str) -> None:
    """The next epoch has begun when the driver dies amid the objects of a checkpoint."""
    traps = ["after-segment:1", "during-metadata:1", "before-sink-commit:1"]
    lives = live_and_die([*traps, ""], directory=root, look=False, count=2_000, executor="resident")
    assert [life.status for life in lives.drivers[:-1]] == [-signal.SIGKILL] * len(traps)
    check(root, lives, 2_000)


def killed_at_times(
    live_and_die: Drivers, root: str, kills: int, count: int, executor: str = "epochs"
) -> None:
    chance = random.Random(kills)
    times = [chance.uniform(0.3, 1.5) for _ in range(kills)] + [0.0]
    lives = live_and_die(
        [""] * len(times),
        directory=root,
        look=False,
        count=count,
        kill_after=times,
        executor=executor,
    )
    assert sum(life.status == -signal.SIGKILL for life in lives.drivers) > kills // 2, lives.errors
    check(root, lives, count)


@pytest.mark.turns(7)
def test_killed_at_any_time(live_and_die: Drivers, root: str) -> None:
    killed_at_times(live_and_die, root, kills=4, count=1500)


@pytest.mark.torture
def test_killed_at_any_time_twenty_times(executor: str, live_and_die: Drivers, root: str) -> None:
    count = {"epochs": 20_000, "resident": 200_000}[executor]
    killed_at_times(live_and_die, root, kills=20, count=count, executor=executor)


class Superseded(FaultyCluster):
    """In the middle of an epoch of one driver another one follows it."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.job_dir = job_dir(root)
        self.before: list[int] = []
        """The checkpoints that were complete then."""
        self.happens: Callable[[], None] = lambda: None

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        if (plan.epoch, plan.attempt) == (4, 0):
            self.follow()
            self.happens()
        return super().run_epoch(plan)

    def follow(self) -> None:
        record = f"{self.job_dir}/lease.json"
        files = file_system_of(record)
        found = files.read_version(record)
        assert found is not None
        # as a machine that was suspended looks to the others: its lease has ended
        ended = json.dumps({**json.loads(found[0]), "until": 1}).encode()
        assert files.write_if(record, ended, found[1]) is not None
        self.before = complete_checkpoints(self.job_dir)
        successor = Lease.acquire(self.job_dir, "successor")
        CheckpointStorage(self.job_dir, "successor", successor).close()
        successor.release()


@pytest.mark.turns(7)
@pytest.mark.parametrize("trusting", [True, False])
def test_a_driver_that_wakes_up_is_fenced(root: str, trusting: bool) -> None:
    """Whether it still trusts its lease, and finds its next checkpoint's number taken, or asks for
    it again."""
    cluster = Superseded(root)
    zombie = driver(root, 300, cluster)
    if not trusting:
        checkpoints = zombie._manager._checkpoints
        cluster.happens = lambda: setattr(checkpoints._lease, "_trusted_until", 0)
    zombie.run()
    told = "was written by another run" if trusting else "taken over by run successor"
    with pytest.raises(LeaseLostError, match=told):
        zombie.result()
    assert cluster.before
    assert complete_checkpoints(job_dir(root)) == cluster.before
    run_driver(root, 300)
    pipeline.check_output(f"{root}/out", 300, 3)
