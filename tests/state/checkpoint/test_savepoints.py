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
    delete_incomplete,
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


BEGUN = "savepoint-count-6c35493a-0123456789ab"


def begun(directory: Path, name: str = BEGUN) -> Path:
    """What a writer that was killed has left, last touched at second 1,000."""
    path = directory / name
    (path / "states" / "uid" / "name").mkdir(parents=True)
    for place in ("states/uid/name/part-0.parquet", ".state.deltas.1234.tmp"):
        (path / place).write_bytes(b"x")
    for place in [*path.rglob("*"), path]:
        os.utime(place, (1000, 1000))
    return path


def test_one_that_was_never_completed_is_told_of(tmp_path: Path) -> None:
    path = begun(tmp_path)
    [found] = find_savepoints(tmp_path)
    assert isinstance(found, DamagedSavepoint)
    assert found.path == str(path)
    assert "incomplete: it has no _metadata" in found.reason
    for look in (open_snapshot, dispose_savepoint):
        with pytest.raises(CheckpointError, match="is incomplete.*delete the directory"):
            look(path)
    assert path.exists()


def test_directories_that_cannot_be_read_are_told_of(
    savepoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lost+found").mkdir()
    forbid(monkeypatch, tmp_path / "lost+found")
    found = list(find_savepoints(tmp_path))
    [damaged] = [one for one in found if isinstance(one, DamagedSavepoint)]
    assert damaged.reason == f"cannot look into {tmp_path}/lost+found: Permission denied"
    assert str(savepoint) in [one.path for one in found]


def forbid(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Not by its mode: root may read everything."""
    scandir = os.scandir

    def refusing(path: str) -> object:
        if os.fspath(path) == str(directory):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)


def test_only_what_a_job_has_abandoned_is_deleted(tmp_path: Path) -> None:
    abandoned = begun(tmp_path)
    of_others = begun(tmp_path, "savepoint-other-6c35493a-0123456789ab")
    named_by_users = begun(tmp_path, "savepoint-count-6c35493a-mine")
    complete = begun(tmp_path, BEGUN.replace("0", "1"))
    (complete / "_metadata").write_bytes(b"?")
    young = begun(tmp_path, BEGUN.replace("0", "2"))
    (young / ".state.deltas.1234.tmp").write_bytes(b"more")
    os.utime(young, (1000, 1000))
    foreign = begun(tmp_path, BEGUN.replace("0", "3"))
    (foreign / "notes").mkdir()
    (foreign / "notes" / "why").write_text("mine")
    os.utime(foreign, (1000, 1000))
    (tmp_path / BEGUN.replace("0", "4")).symlink_to(of_others)

    assert delete_incomplete(tmp_path, "count-6c35493a", 999.0) == []
    assert delete_incomplete(tmp_path, "count-6c35493a", 2000.0) == [str(abandoned)]
    assert not abandoned.exists()
    for path in (of_others, named_by_users, complete, young, foreign):
        assert (path / "states" / "uid" / "name" / "part-0.parquet").exists()
    assert delete_incomplete(tmp_path / "none", "count-6c35493a", 2000.0) == []
