"""Writing savepoints: whole or not at all, and small or big deltas alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.checkpoint import savepoint
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.savepoint import write_savepoint
from millrace.state.checkpoint.segment import write_segment
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.state_delta import StateDelta

PAYLOADS = [b"small", b"x" * 5_000, b"segment" * 1_000]


@pytest.fixture
def job(tmp_path: Path) -> tuple[Path, Pin]:
    """A checkpoint with three deltas, one of them a segment."""
    directory = tmp_path / "job"
    lease = Lease.acquire(directory, "r")
    storage = CheckpointStorage(directory, "r", lease)
    data = [*PAYLOADS[:2], write_segment(directory, "seg", PAYLOADS[2])]
    storage.publish(
        Manifest(
            job_name="job",
            epoch=3,
            timestamp=0,
            max_parallelism=8,
            stages={"s": 1},
            operators={"s": "op"},
            versions={("s", 0): "v2"},
            sources={},
            pending={"s": [b"part"]},
        ),
        [("s", 0, StateDelta(e, f"v{e}", 0, d)) for e, d in enumerate(data)],
    )
    pin = storage.pin()
    storage.close()
    lease.release()
    return directory, pin


@pytest.mark.parametrize("big", [100, 10_000, savepoint.BIG])
def test_it_can_be_moved(job, big: int, tmp_path: Path, monkeypatch) -> None:
    """Nothing of the job is needed any more, wherever the line between big and small is."""
    monkeypatch.setattr(savepoint, "BIG", big)
    monkeypatch.setattr(savepoint, "CHUNK", 1_000)
    directory, pin = job
    manifest = write_savepoint(tmp_path / "made", directory, pin)
    shutil.rmtree(directory)
    (tmp_path / "made").rename(tmp_path / "moved")
    found = open_snapshot(tmp_path / "moved")
    assert found.manifest == manifest
    assert manifest.pending == {}
    load = DeltaLoader(found.directory)
    assert [load(delta) for _, _, delta in found.deltas.live()] == PAYLOADS


@pytest.mark.parametrize("big", [100, savepoint.BIG])
def test_damage_is_found_and_nothing_is_left(job, big: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(savepoint, "BIG", big)
    directory, pin = job
    segment = directory / "shared" / "seg"
    segment.write_bytes(segment.read_bytes().replace(b"segment", b"Segment", 1))
    with pytest.raises(CheckpointCorruptError, match="shared/seg"):
        write_savepoint(tmp_path / "made", directory, pin)
    assert not (tmp_path / "made").exists()


def test_a_place_that_is_none(job, tmp_path: Path) -> None:
    directory, pin = job
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot write the savepoint"):
        write_savepoint(tmp_path / "file" / "made", directory, pin)
