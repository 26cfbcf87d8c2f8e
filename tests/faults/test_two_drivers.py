"""Two drivers on one job directory: the second is refused, one that was superseded does nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fault_pipeline as pipeline
import pytest
from fault_drivers import EXECUTORS, driver, job_dir

from millrace.common.errors import LeaseError, LeaseLostError
from millrace.engine.executor import EpochHooks, Executor
from millrace.engine.lease import Lease
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.state.checkpoint.directory import complete_checkpoints

pytestmark = pytest.mark.fault

COUNTS = {"epochs": 300, "resident": 6_000}
"""Records per executor, enough for some ten epochs: those of resident tasks end by the clock."""


def interrupted(executor: str, epoch: int, happens: Callable[[], None]) -> Executor:
    """An executor that lets something happen in the middle of an epoch of its driver."""
    made = EXECUTORS[executor]()
    run = made.run_epoch

    def run_epoch(plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        if (plan.epoch, plan.attempt) == (epoch, 0):
            happens()
        return run(plan, hooks)

    made.run_epoch = run_epoch  # type: ignore[method-assign]
    return made


def take_over(directory: Path) -> Lease:
    """Be the new owner, as after somebody has removed the lock file."""
    Path(job_dir(directory), "lease.lock").unlink()
    return Lease.acquire(job_dir(directory), "usurper")


@pytest.mark.turns(5)
def test_the_second_driver_is_refused(executor: str, tmp_path: Path) -> None:
    """It is told who owns the job; the first one is not disturbed."""
    refusals: list[str] = []

    def start_another() -> None:
        second = driver(tmp_path, COUNTS[executor], EXECUTORS[executor]())
        second.run()
        with pytest.raises(LeaseError) as refused:
            second.result()
        refusals.append(str(refused.value))

    first = driver(tmp_path, COUNTS[executor], interrupted(executor, 3, start_another))
    first.run()
    first.result()
    owner = Lease.acquire(job_dir(tmp_path), "later").owner
    assert len(refusals) == 1
    assert f"process {owner.pid}" in refusals[0]
    assert f"host {owner.host}" in refusals[0]
    pipeline.check_output(tmp_path / "out", COUNTS[executor], 3)


@pytest.mark.turns(5)
def test_a_superseded_driver_cannot_publish(executor: str, tmp_path: Path) -> None:
    """Its epoch runs to the end, but leaves neither a checkpoint nor a visible file."""
    views: list[tuple[list[int], int]] = []

    def view() -> tuple[list[int], int]:
        seen = [row for name in pipeline.SINKS for row in pipeline.visible(tmp_path / "out", name)]
        return complete_checkpoints(job_dir(tmp_path)), len(seen)

    def supersede() -> None:
        views.append(view())
        take_over(tmp_path).release()

    superseded = driver(tmp_path, COUNTS[executor], interrupted(executor, 4, supersede))
    superseded.run()
    with pytest.raises(LeaseLostError, match="usurper"):
        superseded.result()
    assert view() == views[0]
    successor = driver(tmp_path, COUNTS[executor], EXECUTORS[executor]())
    successor.run()
    successor.result()
    pipeline.check_output(tmp_path / "out", COUNTS[executor], 3)


@pytest.mark.turns(5)
def test_a_driver_superseded_after_publishing_cannot_commit(
    executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint counts, but only its successor makes it visible."""
    client = driver(tmp_path, COUNTS[executor], EXECUTORS[executor]())
    checkpoints = client._manager._checkpoints
    publish = checkpoints.publish
    seen: list[int] = []

    def publish_and_lose(**arguments: object) -> int:
        number = publish(**arguments)  # type: ignore[arg-type]
        if number == 3:
            seen.append(len(pipeline.visible(tmp_path / "out", "tallied")))
            take_over(tmp_path).release()
        return number

    monkeypatch.setattr(checkpoints, "publish", publish_and_lose)
    client.run()
    with pytest.raises(LeaseLostError):
        client.result()
    assert complete_checkpoints(job_dir(tmp_path))[-1] == 3
    assert len(pipeline.visible(tmp_path / "out", "tallied")) == seen[0]
    successor = driver(tmp_path, COUNTS[executor], EXECUTORS[executor]())
    successor.run()
    successor.result()
    pipeline.check_output(tmp_path / "out", COUNTS[executor], 3)


@pytest.mark.turns(5)
def test_a_driver_superseded_while_it_dies_leaves_the_lease_alone(
    executor: str, tmp_path: Path
) -> None:
    """Its clean-up does not give the successor's lease back."""
    leases: list[Lease] = []

    def supersede() -> None:
        leases.append(take_over(tmp_path))

    superseded = driver(tmp_path, COUNTS[executor], interrupted(executor, 2, supersede))
    superseded.run()
    with pytest.raises(LeaseLostError):
        superseded.result()
    with pytest.raises(LeaseError, match="usurper"):
        Lease.acquire(job_dir(tmp_path), "third")
    leases[0].verify()
    leases[0].release()
