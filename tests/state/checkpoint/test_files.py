"""Whole files or none, and ranges that are checked."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.state.checkpoint.files import read_range, write_file


def test_write_and_replace(tmp_path: Path) -> None:
    """The content is there, the temporary name is gone."""
    path = tmp_path / "f"
    assert write_file(path, [b"ab", b"c"]) == 3
    assert write_file(path, [b"new"], durable=False) == 3
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["f"]


def test_all_is_there_before_the_name(tmp_path: Path) -> None:
    """Under a hidden name that nobody takes for a file."""
    seen = []

    def look() -> None:
        (name,) = os.listdir(tmp_path)
        seen.append((name, (tmp_path / name).read_bytes()))

    write_file(tmp_path / "f", [b"abc"], before_complete=look)
    ((name, content),) = seen
    assert name.startswith(".f.")
    assert name.endswith(".tmp")
    assert content == b"abc"


def test_the_first_one_stays(tmp_path: Path) -> None:
    """When a file must not replace another."""
    write_file(tmp_path / "f", [b"first"], exclusive=True)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "f", [b"second"], exclusive=True)
    assert (tmp_path / "f").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    """Neither a temporary file nor half a new one stays."""
    path = tmp_path / "f"
    write_file(path, [b"old"])

    def chunks() -> Iterator[bytes]:
        yield b"ne"
        raise error

    with pytest.raises((CheckpointError, KeyboardInterrupt)):
        write_file(path, chunks())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_failure_names_file_and_reason(tmp_path: Path) -> None:
    """The operating system's words reach the person."""
    with pytest.raises(CheckpointError, match=r"missing/f: No such file or directory"):
        write_file(tmp_path / "missing" / "f", [b""])


def test_durable_flushes_file_and_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two flushes, or none for what does not outlive the process."""
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    write_file(tmp_path / "f", [b"x"], durable=False)
    assert flushed == []
    write_file(tmp_path / "f", [b"x"])
    assert len(flushed) == 2


def test_read_range(tmp_path: Path) -> None:
    """Exactly the bytes asked for."""
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    assert read_range(path, 2, 3, zlib.crc32(b"234")) == b"234"
    assert read_range(path, 10, 0, zlib.crc32(b"")) == b""


def test_read_range_finds_damage(tmp_path: Path) -> None:
    """Missing, short and changed files are named."""
    path = tmp_path / "f"
    with pytest.raises(CheckpointCorruptError, match="f is corrupt: the file is missing"):
        read_range(path, 0, 1, 0)
    path.write_bytes(b"0123")
    with pytest.raises(CheckpointCorruptError, match="ends at byte 4 of at least 6"):
        read_range(path, 3, 3, 0)
    with pytest.raises(CheckpointCorruptError, match="checksum of bytes 0 to 4 differs"):
        read_range(path, 0, 4, zlib.crc32(b"0124"))


def test_read_range_of_something_unreadable(tmp_path: Path) -> None:
    """What is not damage is not called damage."""
    with pytest.raises(CheckpointError, match="cannot read") as caught:
        read_range(tmp_path, 0, 1, 0)
    assert not isinstance(caught.value, CheckpointCorruptError)
