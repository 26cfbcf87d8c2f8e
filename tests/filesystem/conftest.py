"""An object store in memory: what a file system looks like that knows no directories or renames."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from millrace.filesystem.file_system import FileStatus, FileSystem, PendingFile
from millrace.filesystem.local_file_system import LocalFileSystem


class ObjectStore(FileSystem):
    """Whole objects by key; a key may look like a path, but nothing is made for its parents."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def open(self, location: str) -> BinaryIO:
        found = self.objects.get(location)
        if found is None:
            raise FileNotFoundError(location)
        return io.BytesIO(found[0])

    def status(self, location: str) -> FileStatus | None:
        found = self.objects.get(location)
        return None if found is None else FileStatus(location, len(found[0]), found[1])

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        prefix = directory.rstrip("/") + "/"
        for key, (data, modified) in sorted(self.objects.items()):
            if key.startswith(prefix) and (recursive or "/" not in key[len(prefix) :]):
                yield FileStatus(key, len(data), modified)

    def directories(self, directory: str) -> Iterator[str]:
        prefix = directory.rstrip("/") + "/"
        below = (key[len(prefix) :] for key in self.objects if key.startswith(prefix))
        yield from {rest.partition("/")[0] for rest in below if "/" in rest}

    def is_directory(self, directory: str) -> bool:
        prefix = directory.rstrip("/") + "/"
        return any(key.startswith(prefix) for key in self.objects)

    def begin(self, location: str, durable: bool = True) -> PendingFile:
        return Upload(self, location)

    def create_exclusive(self, location: str, data: bytes) -> bool:
        with self._lock:
            if location in self.objects:
                return False
            self.objects[location] = (data, time.time())
            return True

    def put(self, location: str, data: bytes) -> None:
        with self._lock:
            self.objects[location] = (data, time.time())

    def delete(self, location: str) -> bool:
        return self.objects.pop(location, None) is not None

    def make_directory(self, directory: str, durable: bool = True) -> None:
        """There are none."""

    def delete_directory(self, directory: str) -> None:
        for status in list(self.list(directory, recursive=True)):
            self.delete(status.location)


class Upload(PendingFile):
    """A multipart upload."""

    def __init__(self, store: ObjectStore, location: str) -> None:
        self._store, self._location, self._parts = store, location, list[bytes]()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._parts.append(bytes(data))

    def complete(self) -> int:
        data = b"".join(self._parts)
        self._store.put(self._location, data)
        return len(data)

    def discard(self) -> None:
        self._parts.clear()


@pytest.fixture(params=["local", "object store"])
def files(request: pytest.FixtureRequest) -> FileSystem:
    return LocalFileSystem() if request.param == "local" else ObjectStore()


@pytest.fixture
def root(files: FileSystem, tmp_path: Path) -> str:
    """Where a file system may be written to."""
    return str(tmp_path) if isinstance(files, LocalFileSystem) else "memory://bucket/some"
