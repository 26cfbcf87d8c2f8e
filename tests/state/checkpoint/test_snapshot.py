"""Snapshots: every way to name one, and what is wrong with a name."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.snapshot import open_snapshot, read_snapshot_manifest
from millrace.state.state_delta import StateDelta


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    """A job with checkpoints 1 and 2."""
    directory = tmp_path / "count"
    lease = Lease.acquire(directory, "r")
    storage = CheckpointStorage(directory, "r", lease)
    for epoch in (1, 2):
        storage.publish(
            Manifest(
                job_name="count",
                epoch=epoch,
                timestamp=0,
                max_parallelism=8,
                stages={"s": 1},
                operators={"s": "count"},
                versions={("s", 0): f"v{epoch}"},
                sources={},
                pending={},
            ),
            [("s", 0, StateDelta(epoch, f"v{epoch}", 1, b"state"))],
        )
    storage.close()
    lease.release()
    return directory


def test_the_ways_to_name_a_checkpoint(job_dir: Path) -> None:
    """A job directory means its newest one."""
    newest = open_snapshot(job_dir)
    assert newest.manifest.checkpoint == 2
    assert newest == open_snapshot(job_dir / "chk-2")
    assert newest == open_snapshot(job_dir / "chk-2" / "_metadata")
    assert newest.directory == str(job_dir)
    assert [delta.epoch for _, _, delta in newest.deltas.live()] == [1, 2]
    assert open_snapshot(job_dir / "chk-1").manifest.checkpoint == 1


def test_a_savepoint_has_its_files_below_itself(job_dir: Path, tmp_path: Path) -> None:
    """So that it can be moved."""
    found = open_snapshot(job_dir)
    savepoint = tmp_path / "moved"
    savepoint.mkdir()
    manifest = dataclasses.replace(found.manifest, kind="savepoint")
    (savepoint / "_metadata").write_bytes(manifest.encode())
    with pytest.raises(CheckpointCorruptError, match="moved/shared"):
        open_snapshot(savepoint)
    shutil.copytree(job_dir / "shared", savepoint / "shared")
    opened = open_snapshot(savepoint)
    assert opened.is_savepoint
    assert opened.directory == str(savepoint)
    assert opened.deltas == found.deltas


def test_nothing_there(tmp_path: Path) -> None:
    """The error says which path, and what it should be."""
    with pytest.raises(CheckpointError, match="nowhere, which does not exist; give the path"):
        open_snapshot(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="no complete savepoint or checkpoint at"):
        open_snapshot(tmp_path)


def test_a_damaged_manifest_is_called_by_its_name(job_dir: Path) -> None:
    """Only the manifest is read where only it is asked for."""
    metadata = Path(metadata_path(job_dir, 2))
    metadata.write_bytes(metadata.read_bytes()[:-1])
    with pytest.raises(CheckpointCorruptError, match="chk-2/_metadata"):
        read_snapshot_manifest(job_dir)
