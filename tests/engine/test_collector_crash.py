"""Crashes of the collector: no retained checkpoint loses a file, and the garbage goes later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.filesystem import crash_points as crash
from millrace.filesystem.crash_points import VARIABLE
from millrace.state.checkpoint import packing, retention
from millrace.state.checkpoint.delta_file import DeltaEntry, DeltaLoader
from millrace.state.checkpoint.delta_set import check_segments, read_delta_set
from millrace.state.checkpoint.directory import complete_checkpoints
from millrace.state.checkpoint.manifest import Manifest, read_manifest
from millrace.state.checkpoint.segment import write_segment
from millrace.state.state_delta import StateDelta

POINTS = (
    "during-retention",
    "collect-metadata",
    "collect-file",
    "collect-orphan",
    "during-packing",
    "draft-complete",
)
WINDOW = 5
"""A delta dies after so many epochs."""
EPOCHS = 14


class KilledError(BaseException):
    """In place of a real kill, so that every step can be tried."""


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "FILES_PER_TIER", 3)
    monkeypatch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
    monkeypatch.setattr(retention, "SWEEP_EVERY", 2)


def run_job(job_dir: Path, run_id: str, epochs: int) -> None:
    """Some epochs of two subtasks whose deltas die, and one whose deltas are segments; every
    task is run twice, so that there is an orphan in each epoch. Orphans go at once."""
    lease = Lease.acquire(job_dir, run_id)
    try:
        storage = CheckpointStorage(job_dir, run_id, lease, orphan_age=-1e9)
        manifest = storage.load_latest()
        versions = dict(manifest.versions) if manifest else {}
        first = manifest.epoch + 1 if manifest else 1
        for epoch in range(first, first + epochs):
            write_segment(job_dir, f"{run_id}-{epoch}-orphan", b"orphan", durable=False)
            publish(storage, job_dir, run_id, epoch, versions)
        storage.close()
    finally:
        lease.release()


def publish(
    storage: CheckpointStorage,
    job_dir: Path,
    run_id: str,
    epoch: int,
    versions: dict[tuple[str, int], str],
) -> None:
    deltas: list[DeltaEntry] = []
    for subtask in range(3):
        version = f"{run_id}-{epoch}-{subtask}"
        versions["s", subtask] = version
        data = payload(epoch, subtask)
        kept = write_segment(job_dir, version, data, durable=False) if subtask == 2 else data
        deltas.append(("s", subtask, StateDelta(epoch, version, low_epoch(epoch), kept)))
    storage.publish(
        Manifest(
            job_name="count",
            epoch=epoch,
            timestamp=0,
            max_parallelism=8,
            stages={"s": 3},
            operators={"s": "count"},
            versions=dict(versions),
            sources={},
            pending={},
        ),
        deltas,
    )
    storage._packer.wait()


def low_epoch(epoch: int) -> int:
    return max(1, epoch - WINDOW) // 3 * 3


def payload(epoch: int, subtask: int) -> bytes:
    return b"%d of %d" % (epoch, subtask) * 10


def check_whole(job_dir: Path) -> list[int]:
    """Every checkpoint that is complete can be read to its last byte; returns their numbers."""
    load = DeltaLoader(job_dir)
    for number in complete_checkpoints(job_dir):
        manifest = read_manifest(job_dir, number)
        deltas = read_delta_set(job_dir, manifest)
        check_segments(job_dir, deltas.live())
        wanted = range(max(1, low_epoch(manifest.epoch)), manifest.epoch + 1)
        for subtask in range(3):
            found = [load(delta) for delta in deltas.by_subtask()["s", subtask]]
            assert found == [payload(epoch, subtask) for epoch in wanted]
    return complete_checkpoints(job_dir)


def check_clean(job_dir: Path) -> None:
    """Nothing is left but what the retained checkpoints and the next deletion know of."""
    numbers = check_whole(job_dir)
    assert len(numbers) == 2
    assert {path.name for path in job_dir.glob("chk-*")} == {f"chk-{n}" for n in numbers}
    shared = {path.name for path in (job_dir / "shared").iterdir()}
    assert not [name for name in shared if name.endswith(("orphan", ".tmp"))]
    files = {
        os.path.basename(path)
        for number in numbers
        for path in referred_to(job_dir, number)
    }  # fmt: skip
    assert shared == files


def referred_to(job_dir: Path, number: int) -> Iterator[str]:
    deltas = read_delta_set(job_dir, read_manifest(job_dir, number))
    yield from deltas.files
    yield from {
        delta.data.path for _, _, delta in deltas.live() if not isinstance(delta.data, bytes)
    }


def settle(job_dir: Path, run_id: str) -> None:
    """A later run, at the end of which nothing new has come up for a while."""
    run_job(job_dir, run_id, 6)
    lease = Lease.acquire(job_dir, f"{run_id}-idle")
    storage = CheckpointStorage(job_dir, f"{run_id}-idle", lease, orphan_age=-1e9)
    manifest = storage.load_latest()
    assert manifest is not None
    for _ in range(5):
        storage.publish(
            Manifest(
                job_name="count",
                epoch=manifest.epoch,
                timestamp=0,
                max_parallelism=8,
                stages=manifest.stages,
                operators=manifest.operators,
                versions=manifest.versions,
                sources={},
                pending={},
            ),
            [],
        )
        storage._packer.wait()
    storage.close()
    lease.release()


@pytest.mark.turns(5)
@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("point", POINTS[:4])
def test_every_step_of_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """Killed at the first pass of a place, at the second, and so on to the last of a run."""

    deadly = 0

    def pass_by(name: str) -> None:
        crash._passed[name] += 1
        if name == point and crash._passed[name] == deadly:
            raise KilledError

    monkeypatch.setattr(crash, "_TRAPS", {("none", 1): False})
    monkeypatch.setattr(crash, "_pass", pass_by)
    for step in range(1, 100):
        job_dir = tmp_path / str(step)
        deadly = step
        crash._passed.clear()
        try:
            run_job(job_dir, "r1", EPOCHS)
        except KilledError:
            check_whole(job_dir)
            deadly = 0
            settle(job_dir, "r2")
            check_clean(job_dir)
        else:
            break
    else:
        pytest.fail("there is no end to the steps")
    assert len(list(tmp_path.iterdir())) > 5


@pytest.mark.turns(5)
@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("point", ["collect-metadata", "collect-orphan"])
def test_every_step_of_deleting_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """Oldest first, so that the newest is good to the last; afterwards everything is gone."""
    steps = 0
    for step in range(1, 100):
        job_dir = tmp_path / str(step)
        run_job(job_dir, "r1", EPOCHS)
        newest = complete_checkpoints(job_dir)[-1]
        monkeypatch.setattr(crash, "_TRAPS", {(point, step): True})
        crash._passed.clear()
        discard(job_dir, "r2")
        monkeypatch.setattr(crash, "_TRAPS", {})
        left = check_whole(job_dir)
        if not left and not list((job_dir / "shared").iterdir()):
            break
        assert left in ([], [newest], [newest - 1, newest])
        steps += 1
        discard(job_dir, "r3")
        if left:
            assert not list(job_dir.glob("*/*"))
    assert steps > 1


def discard(job_dir: Path, run_id: str) -> None:
    """A run that goes on from the newest checkpoint and is then told to delete all."""
    lease = Lease.acquire(job_dir, run_id)
    storage = CheckpointStorage(job_dir, run_id, lease)
    storage.load_latest()
    storage.discard()
    storage.close()
    lease.release()


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import test_collector_crash as test
test.packing.FILES_PER_TIER, test.packing.MIN_BYTES_PER_STEP, test.retention.SWEEP_EVERY = 3, 0, 2
test.run_job(Path(sys.argv[2]), sys.argv[3], test.EPOCHS)
"""


@pytest.mark.turns(5)
@pytest.mark.fault
@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("count", [1, 4])
def test_kill_9(tmp_path: Path, point: str, count: int) -> None:
    """A real one, in whichever thread comes by; another follows before the job gets through."""
    here = str(Path(__file__).parent)
    for run_id, at in (("r1", count), ("r2", 1)):
        killed = subprocess.run(
            [sys.executable, "-c", SCRIPT, here, str(tmp_path / "job"), run_id],
            env={**os.environ, VARIABLE: f"{point}:{at}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        check_whole(tmp_path / "job")
    settle(tmp_path / "job", "r3")
    check_clean(tmp_path / "job")
