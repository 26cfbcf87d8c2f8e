"""What only a disk does: flushing, and leftovers of processes that died."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.filesystem.local_file_system import LocalFileSystem


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was flushed to the disk, in order."""
    found: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: found.append(os.readlink(f"/proc/self/fd/{fd}")))
    return found


def test_content_is_on_the_disk_before_the_name(tmp_path: Path, flushed: list[str]) -> None:
    LocalFileSystem().publish(str(tmp_path / "a"), [b"x"])
    temporary, directory = flushed
    assert os.path.basename(temporary).startswith(".a.")
    assert directory == str(tmp_path)


def test_new_directories_are_on_the_disk(tmp_path: Path, flushed: list[str]) -> None:
    LocalFileSystem().make_directory(str(tmp_path / "d" / "e"))
    assert flushed == [str(tmp_path), str(tmp_path / "d")]


def test_what_need_not_last_is_not_flushed(tmp_path: Path, flushed: list[str]) -> None:
    LocalFileSystem().publish(str(tmp_path / "d" / "a"), [b"x"], durable=False)
    assert flushed == []


def test_leftovers_are_not_listed(tmp_path: Path) -> None:
    files = LocalFileSystem()
    pending = files.begin(str(tmp_path / "a"))
    pending.write(b"the process dies here")
    pending.rest()
    assert list(files.list(str(tmp_path))) == []
    [left] = files.uploads(str(tmp_path))
    assert (left.location, left.token) == (str(tmp_path / "a"), pending.token)
    files.abort(left.token)
    assert list(tmp_path.iterdir()) == []


def test_hidden_files_are_files(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    [found] = LocalFileSystem().list(str(tmp_path))
    assert found.location == str(tmp_path / ".hidden")


def test_a_block_whose_file_cannot_be_completed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OSError, match="No space"),
        LocalFileSystem().begin(str(tmp_path / "a")) as pending,
    ):
        pending.write(b"x")
    assert list(tmp_path.iterdir()) == []


def test_links_in_a_circle_are_nothing(tmp_path: Path) -> None:
    files = LocalFileSystem()
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert files.status(str(tmp_path / "circle")) is None
    assert files.status(str(tmp_path / ("x" * 5000))) is None
    assert [os.path.basename(file.location) for file in files.list(str(tmp_path))] == ["a"]
    assert list(files.directories(str(tmp_path))) == []


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A directory that is nested deeper than Python recurses; removed without recursion, too."""
    paths = [f"{tmp_path}{'/d' * depth}" for depth in range(1, 1200)]
    for path in paths:
        os.mkdir(path)
    yield Path(paths[-1])
    for path in reversed(paths):
        os.rmdir(path)


def test_directories_nested_deeper_than_python_recurses(tmp_path: Path, deep: Path) -> None:
    (deep / "a").write_bytes(b"x")
    found = LocalFileSystem().list(str(tmp_path), recursive=True)
    assert [file.location for file in found] == [f"{deep}/a"]
    (deep / "a").unlink()
