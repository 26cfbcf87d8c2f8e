"""An object store in memory: flat keys, conditional puts by entity tag, multipart uploads.

It has no directories, no renames, no locks. It counts requests, as those cost money and time.
"""

from __future__ import annotations

import io
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from millrace.filesystem.file_system import (
    FileStatus,
    FileSystem,
    PendingFile,
    PendingUpload,
    UploadStatus,
    Version,
)


class ObjectStore(FileSystem):
    """Whole objects by key; a key may look like a path, but nothing is made for its parents."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, float, Version]] = {}
        self.multipart: dict[str, tuple[str, bytes, float]] = {}
        self.requests: Counter[str] = Counter()
        self.before_put: Callable[[str], None] = lambda key: None
        """Called before an object appears: a test may be another driver, or let the put fail."""
        self.now = time.time
        self._tags = itertools.count(1)
        self._lock = threading.RLock()

    # -- what a store offers -------------------------------------------------------------------

    def put(
        self, key: str, data: bytes, version: Version | None = None, absent: bool = False
    ) -> Version:
        self.before_put(key)
        with self._lock:
            self.requests["put"] += 1
            found = self.objects.get(key)
            if absent and found is not None:
                raise FileExistsError(17, "precondition failed", key)
            if version is not None and (found is None or found[2] != version):
                raise FileExistsError(17, "precondition failed", key)
            tag = f'"{next(self._tags)}"'
            self.objects[key] = (bytes(data), self.now(), tag)
            return tag

    def _listed(self, prefix: str) -> list[tuple[str, tuple[bytes, float, Version]]]:
        self.requests["list"] += 1
        with self._lock:
            return sorted(item for item in self.objects.items() if item[0].startswith(prefix))

    # -- as a file system ----------------------------------------------------------------------

    def open(self, location: str, buffered: bool = True) -> BinaryIO:
        self.requests["get"] += 1
        found = self.objects.get(location)
        if found is None:
            raise FileNotFoundError(location)
        return io.BytesIO(found[0])

    def status(self, location: str) -> FileStatus | None:
        self.requests["head"] += 1
        found = self.objects.get(location)
        return None if found is None else FileStatus(location, len(found[0]), found[1])

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        prefix = directory.rstrip("/") + "/"
        for key, (data, modified, _) in self._listed(prefix):
            if recursive or "/" not in key[len(prefix) :]:
                yield FileStatus(key, len(data), modified)

    def directories(self, directory: str) -> Iterator[str]:
        prefix = directory.rstrip("/") + "/"
        below = (key[len(prefix) :] for key, _ in self._listed(prefix))
        yield from {rest.partition("/")[0] for rest in below if "/" in rest}

    def is_directory(self, directory: str) -> bool:
        return bool(self._listed(directory.rstrip("/") + "/"))

    def read_version(self, location: str) -> tuple[bytes, Version] | None:
        self.requests["get"] += 1
        found = self.objects.get(location)
        return None if found is None else (found[0], found[2])

    def begin(
        self,
        location: str,
        durable: bool = True,
        *,
        private: bool = True,
        make_parents: bool = True,
    ) -> PendingFile:
        return Upload(self, location)

    def write_if(self, location: str, data: bytes, version: Version | None) -> Version | None:
        try:
            return self.put(location, data, version, absent=version is None)
        except FileExistsError:
            return None

    def commit(self, uploads: Sequence[PendingUpload]) -> None:
        for upload in uploads:
            with self._lock:  # a store completes an upload in one step
                found = self.multipart.get(upload.token)
                if found is None:
                    if upload.location not in self.objects:
                        raise FileNotFoundError(2, "no such upload", upload.location)
                else:
                    self.put(upload.location, found[1], absent=True)
                    del self.multipart[upload.token]

    def uploads(self, directory: str) -> Iterator[UploadStatus]:
        self.requests["list"] += 1
        for token, (key, _, begun) in list(self.multipart.items()):
            if key.startswith(directory.rstrip("/") + "/"):
                yield UploadStatus(key, token, begun)

    def abort(self, token: str) -> None:
        self.multipart.pop(token, None)

    def delete(self, location: str) -> bool:
        self.requests["delete"] += 1
        return self.objects.pop(location, None) is not None

    def delete_all(self, locations: Iterable[str]) -> None:
        self.requests["delete"] += 1
        for location in locations:
            self.objects.pop(location, None)

    def make_directory(self, directory: str, durable: bool = True, *, private: bool = True) -> None:
        """There are none."""

    def delete_directory(self, directory: str) -> None:
        self.delete_all([status.location for status in self.list(directory, recursive=True)])

    # -- for tests -----------------------------------------------------------------------------

    def keys(self, below: str = "memory://") -> list[str]:
        """What is there, relative to a prefix."""
        return [key.removeprefix(below) for key in sorted(self.objects) if key.startswith(below)]


class Upload(PendingFile):
    """A multipart upload; a put if it is completed at once."""

    def __init__(self, store: ObjectStore, location: str) -> None:
        super().__init__()
        self._store, self._location, self._parts = store, location, list[bytes]()
        self._token = ""

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def tell(self) -> int:
        return sum(map(len, self._parts))

    def complete(self, exclusive: bool = False) -> int:
        self._store.put(self._location, b"".join(self._parts), absent=exclusive)
        return self.tell()

    def persist(self) -> PendingUpload:
        store = self._store
        token = f"upload-{next(store._tags)}"
        store.multipart[token] = (self._location, b"".join(self._parts), store.now())
        return PendingUpload(self._location, token, self.tell())

    @property
    def token(self) -> str:
        return self._token

    def discard(self) -> None:
        """Parts that were never put together are nothing."""
