"""kill -9 at every crash point of a checkpoint: what is found afterwards is complete and exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.filesystem.crash_points import VARIABLE
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

pytestmark = pytest.mark.fault

SCRIPT = """
import sys
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.checkpoint import packing
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT

job_dir, run_id, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
packing.FILES_PER_TIER = 2
lease = Lease.acquire(job_dir, run_id)
storage = CheckpointStorage(job_dir, run_id, lease)
manifest, state = storage.load_latest(), SubtaskState()
state.table(TableId("op", "count"), FLAT)
epoch = 1
if manifest is not None:
    version = manifest.versions["s", 0]
    state.restore(version, storage.deltas(manifest)["s", 0], DeltaLoader(job_dir))
    epoch = manifest.epoch + 1
while epoch <= last:
    version = f"{run_id}-{epoch}"
    counts = state.tables[TableId("op", "count")]
    counts.put("total", (counts.get("total") or 0) + epoch)
    for key in range(epoch * 10, epoch * 10 + 10):
        counts.put(key, epoch)
    delta = state.snapshot(epoch, version)
    content = Manifest(
        job_name="count", epoch=epoch, timestamp=0, max_parallelism=8, stages={"s": 1},
        operators={"s": "count"}, versions={("s", 0): version}, sources={}, pending={},
    )
    storage.publish(content, [("s", 0, delta)])
    assert state.align(version, [delta], DeltaLoader(job_dir))
    print(epoch, flush=True)
    epoch += 1
storage.close()
"""


def run(job_dir: Path, run_id: str, last: int, trap: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(job_dir), run_id, str(last)],
        env={**os.environ, VARIABLE: trap},
        capture_output=True,
        text=True,
        check=False,
    )


def expected(epoch: int) -> dict[object, int]:
    counts: dict[object, int] = {key: key // 10 for key in range(10, epoch * 10 + 10)}
    return {**counts, "total": sum(range(epoch + 1))} if epoch else {}


def found(job_dir: Path) -> tuple[int, dict[object, int]]:
    """Number of the newest checkpoint and its state, seen by a run of its own."""
    lease = Lease.acquire(job_dir, "look")
    storage = CheckpointStorage(job_dir, "look", lease)
    manifest = storage.load_latest()
    state = SubtaskState()
    if manifest is not None:
        deltas = storage.deltas(manifest)["s", 0]
        state.restore(manifest.versions["s", 0], deltas, DeltaLoader(job_dir))
    numbers = [int(path.name[4:]) for path in job_dir.glob("chk-*")]
    assert storage.next_number() > max(numbers, default=0)
    storage.close()
    lease.release()
    table = state.tables.get(TableId("op", "count"))
    return (manifest.epoch if manifest else 0), dict(table.data) if table else {}  # type: ignore[attr-defined]


@pytest.mark.turns(5)
@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize(
    ("place", "complete"),
    [
        ("after-deltas", False),
        ("during-metadata", False),
        ("after-metadata", True),
        ("during-retention", True),
    ],
)
def test_kill_at_every_point(tmp_path: Path, place: str, complete: bool, count: int) -> None:
    """The newest complete checkpoint is the last that was reported, or the one being finished."""
    killed = run(tmp_path / "job", "r1", 20, f"{place}:{count}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert killed.stdout.split() == [str(epoch) for epoch in range(1, count)]
    epoch, state = found(tmp_path / "job")
    assert epoch == (count if complete else count - 1)
    assert state == expected(epoch)
    resumed = run(tmp_path / "job", "r2", 12)
    assert resumed.returncode == 0, resumed.stderr
    assert found(tmp_path / "job") == (12, expected(12))


@pytest.mark.turns(5)
def test_one_crash_after_the_other(tmp_path: Path) -> None:
    """Every run gets a little further; the garbage of all of them harms none."""
    places = ["after-deltas", "during-metadata", "after-metadata", "during-retention"]
    for attempt in range(8):
        killed = run(tmp_path / "job", f"r{attempt}", 100, f"{places[attempt % 4]}:3")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        epoch, state = found(tmp_path / "job")
        assert state == expected(epoch)
    assert found(tmp_path / "job")[0] == 8 * 2 + 4
