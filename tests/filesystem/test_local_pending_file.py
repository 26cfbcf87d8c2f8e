"""A file of a local disk while it is being written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.filesystem.local_pending_file import rename_new

FILES = LocalFileSystem()


def modes(root: Path) -> dict[str, int]:
    return {p.name: stat.S_IMODE(p.stat().st_mode) for p in root.rglob("*")}


def test_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is there, whole and flushed, once it is complete."""
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    pending = FILES.begin(str(tmp_path / "f"))
    for piece in (b"ab", b"c"):
        pending.write(piece)
        pending.rest()
    (name,) = os.listdir(tmp_path)
    assert pending.token == str(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"abc"
    assert flushed == []
    assert pending.complete() == 3
    assert len(flushed) == 2
    pending.discard()
    assert (tmp_path / "f").read_bytes() == b"abc"
    assert os.listdir(tmp_path) == ["f"]


def test_much_is_flushed_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lest the flush at the end takes long; not for what does not outlive the process."""
    flushed = []
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    for durable in (False, True):
        pending = FILES.begin(str(tmp_path / "f"), durable)
        for _ in range(3):
            pending.write(bytes(5 << 20))
            pending.rest()
        pending.discard()
    assert len(flushed) == 1
    assert os.listdir(tmp_path) == []


def test_pieces_of_any_size_keep_their_order(tmp_path: Path) -> None:
    """What is bigger than the buffer goes to the disk at once, after what is in it."""
    pieces = [bytes([n]) * size for n, size in enumerate((10, 1 << 20, 3, (1 << 20) - 1, 5 << 20))]
    pending = FILES.begin(str(tmp_path / "f"), durable=False)
    for piece in pieces:
        pending.write(memoryview(piece))
    assert pending.tell() == sum(map(len, pieces))
    assert pending.complete() == sum(map(len, pieces))
    assert (tmp_path / "f").read_bytes() == b"".join(pieces)


def test_an_idle_file_takes_no_descriptor(tmp_path: Path) -> None:
    """A subtask may write to thousands of buckets."""
    pending = [FILES.begin(str(tmp_path / str(n)), durable=False) for n in range(50)]
    for one in pending:
        one.write(bytes(2 << 20))
    assert not [path for path in open_files() if path.startswith(str(tmp_path))]
    for one in pending:
        one.discard()


def open_files() -> Iterator[str]:
    """What descriptors of this process are of; other threads open and close theirs meanwhile."""
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            yield os.readlink(f"/proc/self/fd/{descriptor}")


@pytest.mark.parametrize("mask", [0o022, 0o077, 0])
def test_private_from_the_first_moment(tmp_path: Path, mask: int) -> None:
    """Files and directories, also while they are written; what is to be read by others is not."""
    before = os.umask(mask)
    try:
        pending = FILES.begin(str(tmp_path / "own" / "f"))
        pending.write(b"secret")
        pending.rest()
        assert set(modes(tmp_path).values()) == {0o700, 0o600}
        pending.complete()
        FILES.write_if(str(tmp_path / "own" / "g"), b"secret", None)
        assert set(modes(tmp_path).values()) == {0o700, 0o600}
        FILES.begin(str(tmp_path / "all" / "f"), private=False).complete()
        assert modes(tmp_path / "all") == {"f": 0o666 & ~mask}
        assert modes(tmp_path)["all"] == 0o777 & ~mask
    finally:
        os.umask(before)


def test_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is reserved first, so the first one still wins."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    rename_new(str(tmp_path / "a"), str(tmp_path / "f"))
    with pytest.raises(FileExistsError):
        rename_new(str(tmp_path / "b"), str(tmp_path / "f"))
    assert (tmp_path / "f").read_text() == "a"
