"""What HDFS does apart from the others: against a real namenode."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys

import pytest
from hdfs import Hdfs

from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.hdfs import name_service, replacement
from millrace.filesystem.hdfs.file_system import HdfsFileSystem
from millrace.filesystem.registry import file_system_of

pytestmark = pytest.mark.connectors

KILLED = """
import os, signal, sys
from millrace.filesystem.registry import file_system_of
pending = file_system_of(sys.argv[1]).begin(sys.argv[1])
pending.write(b"x" * (3 << 20))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def root(hdfs_root: str) -> str:
    return hdfs_root


@pytest.fixture
def files(root: str) -> FileSystem:
    return file_system_of(root)


def test_what_a_killed_writer_leaves_open_is_aborted(files: FileSystem, root: str) -> None:
    location = f"{root}/part"
    died = subprocess.run([sys.executable, "-c", KILLED, location], check=False)
    assert died.returncode == -signal.SIGKILL
    [left] = files.uploads(root)
    assert left.location == location
    assert list(files.list(root)) == []
    files.abort(left.token)
    assert list(files.uploads(root)) == []
    assert files.publish(location, [b"whole"], exclusive=True) == 5


def test_what_a_killed_writer_has_prepared_is_removed(
    files: FileSystem, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacement, "ABANDONED_AGE", -60)  # whatever is there is old
    version = files.write_if(f"{root}/count", b"1", None)
    left = f"{root}/.count.{'0a' * 16}.lock"
    files.make_directory(left)
    files.publish(f"{left}/x", (b"2",))
    assert files.write_if(f"{root}/count", b"3", version) is not None
    assert not files.is_directory(left)
    assert files.read(f"{root}/count") == b"3"


def test_names_that_are_unusual_in_uris(files: FileSystem, root: str) -> None:
    name = "a b%20#?ü=1"
    files.publish(f"{root}/{name}/{name}", [b"x"])
    [found] = files.list(root, recursive=True)
    assert found.location == f"{root}/{name}/{name}"
    assert files.read(found.location) == b"x"
    assert list(files.directories(root)) == [name]


def test_a_large_file_is_written_and_read_in_pieces(files: FileSystem, root: str) -> None:
    data = os.urandom(5 << 20)
    files.publish(f"{root}/a", (data[at : at + 700_001] for at in range(0, len(data), 700_001)))
    assert files.read(f"{root}/a") == data
    with files.open(f"{root}/a") as file:
        file.seek(1 << 20)
        assert file.read(10) == data[1 << 20 :][:10]
        file.seek(-3, io.SEEK_END)
        assert file.read() == data[-3:]
        with pytest.raises(ValueError, match="negative"):
            file.seek(-1)


def test_what_is_private_nobody_else_reads(files: FileSystem, root: str, hdfs: Hdfs) -> None:
    files.publish(f"{root}/private/a", [b""])
    with files.begin(f"{root}/public/a", private=False) as pending:
        pending.write(b"x")
    found = name_service.NameService(hdfs.url.removeprefix("hdfs://"))
    base = root.removeprefix(hdfs.url)
    modes = [found.info(f"{base}/{path}").permission for path in ("private", "private/a")]
    assert modes == [0o700, 0o600]
    modes = [found.info(f"{base}/{path}").permission for path in ("public", "public/a")]
    assert modes == [0o755, 0o644]


def test_directories_are_deleted_when_they_are_empty(files: FileSystem, root: str) -> None:
    files.publish(f"{root}/d/a", [b""])
    files.remove_empty(f"{root}/d")
    files.remove_empty(f"{root}/d/a")
    assert files.status(f"{root}/d/a") is not None
    files.delete(f"{root}/d/a")
    files.remove_empty(f"{root}/d")
    assert not files.is_directory(f"{root}/d")


def test_a_namenode_that_is_killed_forgets_nothing(
    files: FileSystem, root: str, hdfs: Hdfs
) -> None:
    version = files.write_if(f"{root}/a", b"before", None)
    pending = files.begin(f"{root}/part")
    pending.write(b"part")
    upload = pending.persist()
    hdfs.restart_namenode()
    files.commit([upload])
    assert files.read(f"{root}/part") == b"part"
    assert files.write_if(f"{root}/a", b"after", version) is not None
    assert files.read(f"{root}/a") == b"after"


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_service, "_ATTEMPTS", {"dfs.client.failover.max.attempts": "1"})
    with pytest.raises(OSError, match=r"refused.*hdfs://127.0.0.1:1/x"):
        HdfsFileSystem().status("hdfs://127.0.0.1:1/x")


def test_the_default_file_system_is_that_of_the_configuration(
    files: FileSystem, root: str, hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.publish(f"{root}/a", [b"x"])
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.directory / "namenode"))
    location = f"hdfs://{root.removeprefix(hdfs.url)}/a"
    assert location.startswith("hdfs:///")
    assert HdfsFileSystem().read(location) == b"x"


def test_one_slash_is_refused() -> None:
    with pytest.raises(OSError, match="write hdfs://namenode:port/path"):
        HdfsFileSystem().status("hdfs:/x")


def test_it_is_not_pickled(files: FileSystem) -> None:
    with pytest.raises(TypeError, match="use file_system_of"):
        pickle.dumps(files)
