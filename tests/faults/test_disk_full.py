"""No space left while a checkpoint is written: the job says so, its last checkpoint stays whole."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
import pytest
from fault_drivers import EXECUTORS, job_dir, run_driver
from fault_lives import Lives

from millrace.common.errors import CheckpointError, MillraceError
from millrace.state.checkpoint.directory import complete_checkpoints

pytestmark = pytest.mark.fault

FULL = "No space left on device"
Drivers = Callable[..., Lives]


COUNTS = {"epochs": 400, "resident": 6_000}
"""Records per executor, enough for some ten epochs: those of resident tasks end by the clock."""


def live(drivers: Drivers, executor: str, traps: list[str], **request: Any) -> Lives:
    """Run drivers on an executor."""
    return drivers(traps, executor=executor, count=COUNTS[executor], **request)


def finished_exactly(lives: Lives, executor: str) -> None:
    assert lives.drivers[-1].status == 0, lives.errors
    pipeline.check_output(lives.directory / "out", COUNTS[executor], 3)


@pytest.mark.turns(7)
@pytest.mark.parametrize("point", ["after-deltas", "during-metadata", "after-metadata"])
def test_a_checkpoint_that_cannot_be_written_fails_the_job(
    point: str, live_and_die: Drivers, executor: str
) -> None:
    """With the reason; the checkpoint before is what the next run goes on from."""
    lives = live(live_and_die, executor, [f"{point}:4:raise"])
    assert lives.drivers[0].status == 1
    assert "CheckpointError: cannot write" in lives.errors
    assert str(job_dir(lives.directory)) in lives.errors
    assert FULL in lives.errors
    assert complete_checkpoints(job_dir(lives.directory)) == [2, 3]
    finished_exactly(live(live_and_die, executor, [""]), executor)


@pytest.mark.turns(7)
def test_tolerable_failures_are_tolerated(live_and_die: Drivers, executor: str) -> None:
    """Two in a row are fine, a success begins the count anew."""
    traps = ",".join(f"during-metadata:{n}:raise" for n in (3, 4, 6, 7))
    settings = {"execution.checkpointing.tolerable-failed-checkpoints": "2"}
    finished_exactly(live(live_and_die, executor, [traps], settings=settings), executor)


@pytest.mark.turns(7)
def test_one_failure_too_many(live_and_die: Drivers, executor: str) -> None:
    """Three in a row where two are tolerable; what was not saved is read again by the next run."""
    traps = ",".join(f"during-metadata:{n}:raise" for n in (3, 4, 5))
    settings = {"execution.checkpointing.tolerable-failed-checkpoints": "2"}
    lives = live(live_and_die, executor, [traps, ""], settings=settings)
    assert lives.drivers[0].status == 1
    assert FULL in lives.errors
    finished_exactly(lives, executor)


@pytest.mark.turns(7)
def test_a_segment_that_cannot_be_written(live_and_die: Drivers, executor: str) -> None:
    """Fails the epoch with the reason, and the restart strategy decides what follows."""
    lives = live(live_and_die, executor, ["after-segment:5:raise"])
    assert lives.drivers[0].status == 1
    assert FULL in lives.errors
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    traps = "after-segment:3:raise,after-segment:20:raise"
    finished_exactly(live(live_and_die, executor, [traps], settings=restarts), executor)


@pytest.mark.turns(7)
@pytest.mark.parametrize("point", ["before-sink-commit", "during-sink-commit"])
def test_a_commit_that_fails_is_made_up_for(
    point: str, live_and_die: Drivers, executor: str
) -> None:
    """The checkpoint is complete by then, so the next run commits what is left."""
    at_once = {"sink.committer.retries": "0"}
    lives = live(live_and_die, executor, [f"{point}:3:raise", ""], settings=at_once)
    assert lives.drivers[0].status == 1
    assert FULL in lives.errors
    finished_exactly(lives, executor)


@pytest.mark.turns(7)
def test_a_commit_that_fails_is_tried_again(live_and_die: Drivers, executor: str) -> None:
    """Nobody need resume the job."""
    lives = live(live_and_die, executor, ["during-sink-commit:3:raise"])
    assert lives.drivers[0].status == 0
    finished_exactly(lives, executor)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mounting is not allowed here: {error}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def leave_space(disk: Path, space: int) -> None:
    (disk / "filler").write_bytes(bytes((8 << 20) - space))


@pytest.mark.turns(7)
@pytest.mark.parametrize("inline_limit", [100, 1 << 20])
def test_a_disk_that_is_full_indeed(small_disk: Path, inline_limit: int, executor: str) -> None:
    """Checkpoints and parts share the disk; whichever comes too late says why, and once there is
    space again the job goes on as if nothing had been."""
    leave_space(small_disk, 600_000)
    with pytest.raises(MillraceError, match=FULL):
        run_driver(
            small_disk, 6000, cluster=EXECUTORS[executor](), records=200, inline_limit=inline_limit
        )
    (small_disk / "filler").unlink()
    client = run_driver(
        small_disk, 6000, cluster=EXECUTORS[executor](), records=200, inline_limit=inline_limit
    )
    assert client.progress().records < 6000
    pipeline.check_output(small_disk / "out", 6000, 3)


@pytest.mark.turns(7)
def test_only_the_checkpoints_disk_is_full(small_disk: Path, tmp_path: Path, executor: str) -> None:
    """The sinks have space; the checkpoint fails by name."""
    (tmp_path / "checkpoints").symlink_to(small_disk)
    leave_space(small_disk, 150_000)
    with pytest.raises(CheckpointError, match=FULL):
        run_driver(tmp_path, 6000, cluster=EXECUTORS[executor](), records=200, inline_limit=1 << 20)
    assert complete_checkpoints(job_dir(tmp_path))
    (small_disk / "filler").unlink()
    run_driver(tmp_path, 6000, cluster=EXECUTORS[executor](), records=200, inline_limit=1 << 20)
    pipeline.check_output(tmp_path / "out", 6000, 3)
