"""The committer after crashes at each of its steps."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from millrace.common.sink import CommitRequest
from millrace.connectors.errors import PartFileError
from millrace.connectors.file_committer import FileCommitter
from millrace.connectors.part_file import ObsoleteChunks, PartCommittable
from millrace.filesystem import local_file_system
from millrace.filesystem.local_file_system import LocalFileSystem


class Crash(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def parts(tmp_path: Path) -> list[PartCommittable]:
    """Two pending parts, each joined from two chunks."""
    made = []
    for i in range(2):
        chunks = [tmp_path / f".part-0-{i}.inprogress.{n}" for n in range(2)]
        pending = tmp_path / f".part-0-{i}.merged.2"
        for file in (*chunks, pending):
            file.write_text(f"part {i}\n")
        final = tmp_path / f"part-run-0-{i}"
        made.append(PartCommittable(str(pending), str(final), 7, tuple(map(str, chunks))))
    return made


def commit(committer: FileCommitter, committables: Sequence[Any]) -> None:
    committer.commit([CommitRequest(item) for item in committables])


def assert_committed(directory: Path) -> None:
    assert sorted(os.listdir(directory)) == ["part-run-0-0", "part-run-0-1"]
    for i in range(2):
        assert (directory / f"part-run-0-{i}").read_text() == f"part {i}\n"


def test_committing_again_changes_nothing(parts, tmp_path: Path) -> None:
    for _ in range(3):
        commit(FileCommitter(str(tmp_path)), parts)
        assert_committed(tmp_path)


@pytest.mark.parametrize("step", range(7))
def test_a_crash_at_any_step_is_mended_by_the_next_commit(
    parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Steps: two renames, the flush of the directory, four deletions."""
    left = step

    def crash_when_due() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Crash

    def crashing(function):
        def call(*arguments):
            crash_when_due()
            return function(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crashing(os.replace))
        patch.setattr(local_file_system, "sync_all", crashing(local_file_system.sync_all))
        patch.setattr(LocalFileSystem, "delete", crashing(LocalFileSystem.delete))
        with pytest.raises(Crash):
            commit(FileCommitter(str(tmp_path)), parts)
    commit(FileCommitter(str(tmp_path)), parts)
    assert_committed(tmp_path)


def test_chunks_are_deleted_only_after_the_names_are_durable(
    parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    monkeypatch.setattr(local_file_system, "sync_all", lambda _: steps.append("flush"))
    monkeypatch.setattr(LocalFileSystem, "delete", lambda *_: steps.append("delete"))
    commit(FileCommitter(str(tmp_path)), parts)
    assert steps == ["flush"] + ["delete"] * 4


def test_merged_chunks_are_deleted(tmp_path: Path) -> None:
    chunk = tmp_path / ".part-0-0.inprogress.1"
    chunk.touch()
    for _ in range(2):
        commit(FileCommitter(str(tmp_path)), [ObsoleteChunks((str(chunk),))])
    assert os.listdir(tmp_path) == []


def test_a_part_that_is_gone_is_named_with_both_names(parts, tmp_path: Path) -> None:
    os.unlink(parts[0].pending)
    with pytest.raises(PartFileError) as error:
        commit(FileCommitter(str(tmp_path)), parts)
    assert parts[0].final in str(error.value)
    assert parts[0].pending in str(error.value)


def test_a_visible_part_is_never_overwritten(parts, tmp_path: Path) -> None:
    Path(parts[0].final).write_text("another")
    with pytest.raises(PartFileError, match="exists already"):
        commit(FileCommitter(str(tmp_path)), parts)
    assert Path(parts[0].final).read_text() == "another"


def test_a_truncated_part_is_not_made_visible(parts, tmp_path: Path) -> None:
    os.truncate(parts[0].pending, 3)
    with pytest.raises(PartFileError, match="has 3 bytes, but 7 were written"):
        commit(FileCommitter(str(tmp_path)), parts)
    assert not os.path.exists(parts[0].final)


WORK, PART = ".part-0-0.merged.run-3", "part-run-0-0"


@pytest.mark.parametrize(
    ("pending", "final", "obsolete"),
    [
        ("{out}/" + WORK, "{other}/" + PART, ()),
        ("{out}/" + WORK, "{out}/../other/" + PART, ()),
        ("{out}/" + WORK, "{out}/link/" + PART, ()),
        ("{out}/" + WORK, "{out}-2/" + PART, ()),
        ("{out}/" + WORK, "{out}/.bashrc", ()),
        ("{out}/" + WORK, "{out}/a-0-0\0", ()),
        ("{other}/" + WORK, "{out}/" + PART, ()),
        ("{out}/_secret", "{out}/" + PART, ()),
        ("{out}/" + WORK, "{out}/" + PART, ("{other}/" + WORK,)),
        ("{out}/" + WORK, "{out}/" + PART, ("{out}/part-run-0-9",)),
        ("{out}/" + WORK, "{out}/" + PART, (5,)),
    ],
)
def test_only_files_of_the_sink_are_touched(
    tmp_path: Path, pending: str, final: str, obsolete: tuple[object, ...]
) -> None:
    """A snapshot of somebody else may name any path."""
    out, other = tmp_path / "out", tmp_path / "other"
    for directory in (out, other, tmp_path / "out-2"):
        directory.mkdir()
        for name in (WORK, "_secret", "part-run-0-9"):
            (directory / name).write_text("text")
    (out / "link").symlink_to(other)
    before = sorted(tmp_path.rglob("*"))

    def at(path: object) -> object:
        return path.format(out=out, other=other) if isinstance(path, str) else path

    part = PartCommittable(at(pending), at(final), 4, tuple(map(at, obsolete)))  # type: ignore[arg-type]
    with pytest.raises(PartFileError):
        commit(FileCommitter(str(out)), [part])
    chunks = tuple(map(at, obsolete or [final]))
    with pytest.raises(PartFileError):
        commit(FileCommitter(str(out)), [ObsoleteChunks(chunks)])
    assert sorted(tmp_path.rglob("*")) == before


def test_the_sink_may_be_reached_by_another_name(parts, tmp_path: Path) -> None:
    """A link to the base path is the base path."""
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    commit(FileCommitter(str(link)), parts)
    assert_committed(tmp_path)
