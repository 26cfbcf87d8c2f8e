"""Object stores as file systems: keys that look like paths, without renames, locks or
directories."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, NoReturn

from millrace.filesystem.file_system import (
    FileStatus,
    FileSystem,
    PendingFile,
    PendingUpload,
    UploadStatus,
    Version,
)
from millrace.filesystem.object_stores.bucket import Bucket, ObjectClients
from millrace.filesystem.object_stores.refusals import refusals
from millrace.filesystem.object_stores.uploads import Upload, parsed, token_of
from millrace.filesystem.positioned_reader import PositionedReader
from millrace.filesystem.settings import FileSystemSettings, current_settings

__all__ = ["ObjectReader", "ObjectStoreFileSystem"]

_LOCATION = re.compile(r"([^:/]+:/+([^/]+))(?:/+(.*))?", re.DOTALL)
_READ_BUFFER = 1 << 18
_COMMITS_AT_ONCE = 16
_DELETED_AT_ONCE = 1000


class ObjectStoreFileSystem(FileSystem):
    """The buckets of one scheme.

    Args:
        clients: makes what a bucket is reached with, by its name.
    """

    def __init__(self, clients: Callable[[str], ObjectClients]) -> None:
        import obstore  # noqa: F401  who has not installed it is told so at once

        self._clients = clients
        self._made: dict[tuple[str, int, FileSystemSettings], ObjectClients] = {}

    def __reduce__(self) -> NoReturn:
        raise TypeError("a file system has credentials, so it is not pickled: use file_system_of")

    def _bucket(self, location: str) -> tuple[Bucket, str]:
        """The bucket of a location, and the key in it."""
        match = _LOCATION.fullmatch(location)
        if match is None:
            raise OSError(errno.EINVAL, "it has no name of a bucket", location)
        # clients have threads, which a fork does not take along
        made_for = (match[2], os.getpid(), current_settings())
        clients = self._made.get(made_for)
        if clients is None:
            with refusals(location):
                clients = self._made[made_for] = self._clients(match[2])
        return Bucket(f"{match[1]}/", clients), (match[3] or "").rstrip("/")

    # -- reading -------------------------------------------------------------------------------

    def open(self, location: str, buffered: bool = True) -> BinaryIO:
        reader = ObjectReader(*self._bucket(location))
        return io.BufferedReader(reader, _READ_BUFFER if buffered else 1)

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        bucket, key = self._bucket(location)
        if offset == 0 and length is None:
            return bucket.whole(key)[0]
        end = 1 << 62 if length is None else offset + max(length, 1)
        data = bytes(bucket.block(key, offset, end).data)
        return data if length is None else data[:length]

    def status(self, location: str) -> FileStatus | None:
        bucket, key = self._bucket(location)
        return bucket.status(key) if key else None

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        bucket, prefix = self._bucket(directory)
        files = bucket.below(prefix) if recursive else bucket.level(prefix)[0]
        for file in files:
            if not bucket.uploads.is_hidden(file.location) and not self._is_marker(file):
                yield file

    def _is_marker(self, file: FileStatus) -> bool:
        """Whether an object only marks a directory, as some programs write it: it is empty, and
        its key ends with a slash, which listings omit."""
        return file.length == 0 and self.status(file.location) is None

    def directories(self, directory: str) -> Iterator[str]:
        bucket, prefix = self._bucket(directory)
        yield from bucket.level(prefix)[1]

    def is_directory(self, directory: str) -> bool:
        bucket, prefix = self._bucket(directory)
        return not bucket.is_empty(prefix)

    def read_version(self, location: str) -> tuple[bytes, Version] | None:
        bucket, key = self._bucket(location)
        try:
            return bucket.whole(key)
        except FileNotFoundError:
            return None

    # -- writing -------------------------------------------------------------------------------

    def begin(
        self,
        location: str,
        durable: bool = True,
        *,
        private: bool = True,
        make_parents: bool = True,
    ) -> PendingFile:
        return PendingObject(*self._bucket(location))

    def write_if(self, location: str, data: bytes, version: Version | None) -> Version | None:
        bucket, key = self._bucket(location)
        return bucket.put_if(key, data, version)

    def commit(self, uploads: Sequence[PendingUpload]) -> None:
        if len(uploads) <= 1:
            for upload in uploads:
                self._commit(upload)
            return
        with ThreadPoolExecutor(min(len(uploads), _COMMITS_AT_ONCE)) as pool:
            for done in [pool.submit(self._commit, upload) for upload in uploads]:
                done.result()

    def _commit(self, upload: PendingUpload) -> None:
        bucket, key = self._bucket(upload.location)
        bucket.uploads.commit(upload, key, parsed(upload.token)[1])

    def uploads(self, directory: str) -> Iterator[UploadStatus]:
        bucket, prefix = self._bucket(directory)
        yield from bucket.uploads.pending(bucket.location(""), f"{prefix}/" if prefix else "")

    def abort(self, token: str) -> None:
        location, id = parsed(token)
        bucket, key = self._bucket(location)
        bucket.uploads.abort(key, id)

    # -- deleting, and directories ---------------------------------------------------------------

    def delete(self, location: str) -> bool:
        bucket, key = self._bucket(location)
        if bucket.status(key) is None:
            return False
        bucket.delete([key])
        return True

    def delete_all(self, locations: Iterable[str]) -> None:
        keys: dict[str, list[str]] = defaultdict(list)
        buckets: dict[str, Bucket] = {}
        for location in locations:
            bucket, key = self._bucket(location)
            root = bucket.location("")
            buckets[root] = bucket
            keys[root].append(key)
        errors: list[OSError] = []
        for root, bucket in buckets.items():
            for first in range(0, len(keys[root]), _DELETED_AT_ONCE):
                try:
                    bucket.delete(keys[root][first : first + _DELETED_AT_ONCE])
                except OSError as error:
                    errors.append(error)
        if errors:
            raise errors[0]

    def make_directory(self, directory: str, durable: bool = True, *, private: bool = True) -> None:
        """Do nothing: object stores have no directories."""

    def delete_directory(self, directory: str) -> None:
        bucket, prefix = self._bucket(directory)
        self.delete_all(file.location for file in bucket.below(prefix))


class PendingObject(PendingFile):
    """An object under construction. It buffers bytes until they fill a part of an upload, or until
    the object is completed.
    """

    def __init__(self, bucket: Bucket, key: str) -> None:
        super().__init__()
        self._bucket, self._key = bucket, key
        self._buffer = bytearray()
        self._length = 0
        self._upload: Upload | None = None

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._buffer += data
        self._length += size
        if len(self._buffer) >= self._bucket.uploads.piece:
            self._begun().add(self._taken())
        return size

    def tell(self) -> int:
        return self._length

    def complete(self, exclusive: bool = False) -> int:
        if self._upload is not None:
            self._upload.add(self._taken())
            self._upload.finish(exclusive)
            self._upload = None
        elif not exclusive:
            self._bucket.put(self._key, self._taken())
        elif self._bucket.put_if(self._key, self._taken(), None) is None:
            location = self._bucket.location(self._key)
            raise FileExistsError(errno.EEXIST, "it exists already", location)
        return self._length

    def persist(self) -> PendingUpload:
        upload = self._begun()
        upload.add(self._taken())
        upload.seal()
        made = PendingUpload(self._bucket.location(self._key), self.token, self._length)
        self._upload = None
        return made

    @property
    def token(self) -> str:
        location = self._bucket.location(self._key)
        return token_of(location, self._upload.id) if self._upload is not None else ""

    def discard(self) -> None:
        self._buffer = bytearray()
        if self._upload is not None:
            with contextlib.suppress(OSError):
                self._upload.abort()
            self._upload = None

    def _begun(self) -> Upload:
        if self._upload is None:
            self._upload = self._bucket.uploads.begin(self._key)
        return self._upload

    def _taken(self) -> bytes:
        data = bytes(self._buffer)
        self._buffer = bytearray()
        return data


_FIRST = 1 << 18
"""Size in bytes of the first request, and of the first one after a jump."""
_MOST = 8 << 20


class ObjectReader(PositionedReader):
    """An object that was opened with its first bytes. For sequential reads, it requests larger and
    larger ranges.

    Raises:
        FileNotFoundError: (when made) there is no such object.
        FileExistsError: (when read) it was replaced meanwhile.
    """

    def __init__(self, bucket: Bucket, key: str) -> None:
        first = bucket.block(key, 0, _FIRST)
        super().__init__(first.size)
        self._bucket, self._key, self._version = bucket, key, first.version
        self._block = memoryview(first.data)
        self._start = 0
        self._ahead = _FIRST

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        offset = self._position - self._start
        if not 0 <= offset < len(self._block):
            self._fetch(wanted)
            offset = 0
        piece = self._block[offset : offset + wanted]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _fetch(self, wanted: int) -> None:
        goes_on = self._position == self._start + len(self._block)
        self._ahead = min(self._ahead * 2, _MOST) if goes_on else _FIRST
        end = min(self._position + max(wanted, self._ahead), self._size)
        block = self._bucket.block(self._key, self._position, end, self._version)
        self._block, self._start = memoryview(block.data), self._position
