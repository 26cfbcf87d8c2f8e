"""Savepoints in directories: found, measured, and deleted without touching anything else."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.checkpoint.delta_file import DeltaFileRef
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.savepoints import (
    DamagedSavepoint,
    dispose_savepoint,
    files_of,
    find_savepoints,
    size_of,
)
from millrace.state.checkpoint.segment import write_segment
from millrace.state.checkpoint.snapshot import Snapshot, open_snapshot
from millrace.state.state_delta import StateDelta


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    """A job with a checkpoint: a delta file, and a segment that its delta refers to."""
    directory = tmp_path / "jobs" / "count"
    lease = Lease.acquire(directory, "r")
    storage = CheckpointStorage(directory, "r", lease)
    segment = write_segment(directory, "big", b"x" * 100)
    storage.publish(
        Manifest(
            job_name="count",
            epoch=1,
            timestamp=0,
            max_parallelism=8,
            stages={"s": 2},
            operators={"s": "count"},
            versions={("s", 0): "v1", ("s", 1): "v1"},
            sources={},
            pending={},
        ),
        [("s", 0, StateDelta(1, "v1", 1, b"state")), ("s", 1, StateDelta(1, "v1", 1, segment))],
    )
    storage.close()
    lease.release()
    return directory


@pytest.fixture
def savepoint(job_dir: Path, tmp_path: Path) -> Path:
    return copied(job_dir, tmp_path / "deep" / "down" / "savepoint-1")


def copied(job_dir: Path, target: Path, **changes: object) -> Path:
    found = open_snapshot(job_dir)
    (target / "shared").mkdir(parents=True)
    for file in map(Path, files_of(found)[1:]):
        (target / "shared" / file.name).write_bytes(file.read_bytes())
    manifest = dataclasses.replace(found.manifest, kind="savepoint", **changes)  # type: ignore[arg-type]
    (target / "_metadata").write_bytes(manifest.encode())
    return target


def test_its_files(savepoint: Path) -> None:
    snapshot = open_snapshot(savepoint)
    names = [os.path.basename(file) for file in files_of(snapshot)]
    assert names == ["_metadata", "r-1.deltas", "big"]
    assert size_of(snapshot) == sum(map(os.path.getsize, files_of(snapshot)))


def test_all_below_are_found(job_dir: Path, savepoint: Path, tmp_path: Path) -> None:
    """Checkpoints are not among them, damaged savepoints are told."""
    broken = copied(job_dir, tmp_path / "broken")
    (broken / "_metadata").write_bytes(b"?")
    (tmp_path / "link").symlink_to(savepoint.parent)
    first, second = find_savepoints(tmp_path)
    assert isinstance(first, DamagedSavepoint)
    assert (first.path, "corrupt" in first.reason) == (str(broken), True)
    assert isinstance(second, Snapshot)
    assert second.path == str(savepoint)


def test_one_that_was_disposed_of_is_gone(savepoint: Path) -> None:
    assert dispose_savepoint(savepoint / "_metadata") == []
    assert not savepoint.exists()
    assert savepoint.parent.exists()


def test_what_is_not_its_own_stays(savepoint: Path) -> None:
    (savepoint / "shared" / "notes").write_text("mine")
    assert dispose_savepoint(savepoint) == [str(savepoint / "shared" / "notes")]
    assert [path.name for path in savepoint.iterdir()] == ["shared"]


@pytest.mark.parametrize("what", ["", "chk-1", "chk-1/_metadata", "shared", "none"])
def test_nothing_but_a_savepoint_is_deleted(job_dir: Path, what: str) -> None:
    before = sorted(job_dir.rglob("*"))
    with pytest.raises(CheckpointError):
        dispose_savepoint(job_dir / what)
    assert sorted(job_dir.rglob("*")) == before


@pytest.mark.parametrize("path", ["../../precious", "/etc/hostname", "shared/../../precious", "a"])
def test_a_savepoint_cannot_point_at_other_files(job_dir: Path, tmp_path: Path, path: str) -> None:
    """Somebody else may have made it."""
    (tmp_path / "precious").write_text("mine")
    refs = (DeltaFileRef(path, 4, 0, 0, 1),)
    evil = copied(job_dir, tmp_path / "here" / "savepoint", delta_files=refs)
    with pytest.raises(CheckpointError, match="refers to files outside of itself"):
        dispose_savepoint(evil)
    assert (tmp_path / "precious").exists()
    assert (evil / "_metadata").exists()


def test_a_link_in_the_place_of_its_files_is_not_followed(
    job_dir: Path, savepoint: Path, tmp_path: Path
) -> None:
    moved = (savepoint / "shared").rename(tmp_path / "moved")
    (savepoint / "shared").symlink_to(moved)
    with pytest.raises(CheckpointError, match="outside of itself"):
        dispose_savepoint(savepoint)
    assert len(list(moved.iterdir())) == 2


def test_a_damaged_one_loses_what_is_known_to_be_its_own(savepoint: Path) -> None:
    deltas = savepoint / "shared" / "r-1.deltas"
    deltas.write_bytes(deltas.read_bytes()[:-1])
    assert dispose_savepoint(savepoint) == [str(savepoint / "shared" / "big")]
