"""A real driver is stopped (SIGSTOP), superseded and continued: it writes nothing any more."""

from __future__ import annotations

import signal
from pathlib import Path

import fault_pipeline as pipeline
import pytest
from fault_spark import SparkDriver, reap

from millrace.filesystem.local_lock import lock_file

pytestmark = [pytest.mark.fault, pytest.mark.spark, pytest.mark.torture]

COUNT = 900


def files(directory: Path) -> dict[str, bytes]:
    """What readers of the output and a next run see."""
    patterns = "out/*/[!.]*", "checkpoints/*/chk-*/*", "checkpoints/*/job.json"
    return {
        str(path): path.read_bytes() for pattern in patterns for path in directory.glob(pattern)
    }


LOCKS = ("commit.lock", ".lease.json.lock")
"""What a successor waits for."""


def pause(driver: SparkDriver) -> None:
    """Stop it where it holds none of the locks."""
    job_dir = driver.job_dir()
    assert job_dir is not None
    while True:
        driver.process.send_signal(signal.SIGSTOP)
        found = [lock_file(str(job_dir / name), wait=False) for name in LOCKS]
        for lock in found:
            if lock is not None:
                lock.release()
        if None not in found:
            return
        driver.process.send_signal(signal.SIGCONT)


def test_a_paused_driver_that_is_superseded_and_continued(executor: str, tmp_path: Path) -> None:
    paused = SparkDriver(tmp_path, COUNT, executor=executor)
    assert paused.wait_for(lambda: paused.newest_checkpoint() > 1), paused.log
    children = paused.descendants()
    pause(paused)
    try:
        refused = SparkDriver(tmp_path, COUNT, executor=executor)
        assert refused.wait() == 1
        assert f"process {paused.process.pid}" in refused.log
        job_dir = paused.job_dir()
        assert job_dir is not None
        (job_dir / "lease.lock").unlink()  # as where locks do not outlive a pause
        successor = SparkDriver(tmp_path, COUNT, executor=executor)
        assert successor.wait() == 0, successor.log
        pipeline.check_output(tmp_path / "out", COUNT, 3)
        before = files(tmp_path)
    finally:
        paused.process.send_signal(signal.SIGCONT)
    assert paused.wait() == 1, paused.log  # it has lost its lease, or pieces of its files
    assert reap(children) == []
    assert files(tmp_path) == before
    pipeline.check_output(tmp_path / "out", COUNT, 3)
