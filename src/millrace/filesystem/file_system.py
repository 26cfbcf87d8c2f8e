"""The file system protocol for checkpoints, savepoints and file connectors.

It has the operations that disks and object stores share. There is no rename: a file *appears* whole
under its name when it is completed. The storage decides which of two processes creates a file first
(`PendingFile.complete` with ``exclusive``), and whether a file still has the content that its
writer has read (`FileSystem.write_if`). A file that appears later, perhaps by another process, is
a `PendingUpload`.
Flink docs, "File Systems"; Flink's ``RecoverableWriter`` and object stores' conditional puts.
"""

from __future__ import annotations

import errno
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, ClassVar, Self

__all__ = [
    "FileLock",
    "FileStatus",
    "FileSystem",
    "PendingFile",
    "PendingUpload",
    "UploadDamagedError",
    "UploadStatus",
    "Version",
    "require_written",
]

Version = str
"""Opaque id of one content of a file; for object stores, the entity tag."""
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Size and time of an existing file."""

    location: str
    length: int
    """Bytes."""
    modified: float
    """Time of the last change, in seconds since the Unix epoch."""


@dataclass(frozen=True, slots=True)
class UploadStatus:
    """An upload that has begun but is not committed."""

    location: str
    """Location of the file that the upload was meant for."""
    token: str
    modified: float
    """Time of the last write, in seconds since the Unix epoch."""


class UploadDamagedError(OSError):
    """An upload differs from the written data and must not become visible."""


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """A written file that is not visible yet. Any process with access to the storage can make it
    visible with `FileSystem.commit`, so checkpoints may contain it."""

    location: str
    """Location of the file that the upload becomes."""
    token: str
    """Name of the upload in the file system: a temporary name, or the id and parts of an upload."""
    length: int
    """Bytes."""


def require_written(upload: PendingUpload, stored: int | None, at: str | None = None) -> None:
    """Refuse an upload whose stored data differs from the written data.

    Args:
        found: number of stored bytes; None if there is no file.
        at: location of the stored bytes; None for the upload's location.

    Raises:
        FileNotFoundError: neither the file nor its upload is there.
        UploadDamagedError: the number of bytes differs.
    """
    if stored is None:
        raise FileNotFoundError(errno.ENOENT, "neither it nor its upload is there", upload.location)
    if stored != upload.length:
        raise UploadDamagedError(
            errno.EIO,
            f"it has {stored} bytes, but {upload.length} were written",
            at or upload.location,
        )


class PendingFile(io.RawIOBase):
    """A file under construction, invisible until it is complete.

    As a context manager it is completed, or discarded when an exception leaves the block.
    """

    def writable(self) -> bool:
        return True

    @abstractmethod
    def write(self, data: Any) -> int:
        """Append bytes; returns their number."""

    @abstractmethod
    def tell(self) -> int:
        """Number of bytes written."""

    def rest(self) -> None:
        """Prepare for a pause in writing. Buffered data is written to the disk little by little, so
        that the flush at the end does not block other writers.
        """

    def sync(self, also: Sequence[str] = ()) -> None:
        """Make the written data durable, and with it other files that were written without
        durability (``also``) and the directory entries of all these files. Has no effect on
        storages where complete files are always durable."""

    @abstractmethod
    def complete(self, exclusive: bool = False) -> int:
        """Make the whole file visible under its name in one step; returns its size in bytes.

        Args:
            exclusive: fail if a file with the name exists, instead of replacing it.

        Raises:
            FileExistsError: the file exists, and ``exclusive`` is True.
        """

    @abstractmethod
    def persist(self) -> PendingUpload:
        """End the file. A later `FileSystem.commit` makes it visible."""

    @property
    @abstractmethod
    def token(self) -> str:
        """Name by which `FileSystem.uploads` lists the file until it is complete."""

    @abstractmethod
    def discard(self) -> None:
        """Discard the file, unless it is complete or persisted. Never fails."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.complete()
        finally:
            self.discard()


class FileLock(ABC):
    """A held lock, which is also released when its process dies."""

    @abstractmethod
    def is_current(self) -> bool:
        """Whether the lock still protects its file. It does not if the file was deleted or
        replaced.
        """

    @abstractmethod
    def release(self) -> None:
        """Release the lock; a second call has no effect."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class FileSystem(ABC):
    """A storage of files by location. Implementations are thread-safe, and raise OSError.

    Locations are qualified: absolute paths, or URIs with a scheme. Directories exist as long as
    there are files in them, as far as anybody can tell; making one first is allowed, and cheap.
    What is ``private`` nobody but the user who makes it may read, where that can be said.
    """

    has_directories: ClassVar[bool] = False
    """Whether the storage has real directories, which must be made and removed."""
    has_locks: ClassVar[bool] = False
    """Whether the storage has locks (`lock`) that end with their process."""

    # -- reading -------------------------------------------------------------------------------

    @abstractmethod
    def open(self, location: str, buffered: bool = True) -> BinaryIO:
        """Open a file for reading from any position.

        Args:
            buffered: False for readers of big pieces only.

        Raises:
            FileNotFoundError: there is no such file.
        """

    @abstractmethod
    def status(self, location: str) -> FileStatus | None:
        """A file's size and time; None if there is no such file (it may be a directory)."""

    @abstractmethod
    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        """The complete files in a directory, in no particular order; with ``recursive``, also those
        in directories below it. Empty if the directory does not exist.
        """

    @abstractmethod
    def directories(self, directory: str) -> Iterator[str]:
        """The names of the directories in a directory."""

    @abstractmethod
    def is_directory(self, directory: str) -> bool:
        """Whether a directory with the name exists. An empty directory counts only on storages that
        have directories.
        """

    def canonical(self, location: str) -> str:
        """The canonical name of a file with several names."""
        return location

    def is_link(self, location: str) -> bool:
        """Whether the location is a link to another place."""
        return False

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from ``offset``, at most ``length``; fewer at its end.

        Raises:
            FileNotFoundError: there is no such file.
        """
        with self.open(location, buffered=False) as file:
            file.seek(offset)
            return file.read() if length is None else file.read(length)

    @abstractmethod
    def read_version(self, location: str) -> tuple[bytes, Version] | None:
        """The content of a small file, and its version for `write_if`; None if there is no such
        file.
        """

    # -- writing -------------------------------------------------------------------------------

    @abstractmethod
    def begin(
        self,
        location: str,
        durable: bool = True,
        *,
        private: bool = True,
        make_parents: bool = True,
    ) -> PendingFile:
        """Begin to write a file.

        Args:
            durable: whether the complete file must survive a power failure.
            make_parents: False: writing fails if its directory is gone, where directories exist.
        """

    def sync(self, locations: Sequence[str]) -> None:
        """Make several files durable together that were written without durability, and their
        directory entries. Without effect on storages where complete files are always durable."""

    @abstractmethod
    def write_if(self, location: str, data: bytes, version: Version | None) -> Version | None:
        """Replace a small file durably if its version is still the given one.

        Args:
            version: version from `read_version`; None if no file with this name may exist.

        Returns:
            The new version; None if ``version`` is not current, so that nothing was written. Of
            several callers in any processes, only one succeeds.
        """

    @abstractmethod
    def commit(self, uploads: Sequence[PendingUpload]) -> None:
        """Make uploads visible, durably. Uploads that are visible already are skipped.

        Raises:
            FileNotFoundError: an upload is gone, and has not appeared.
            FileExistsError: another file with this name exists.
            UploadDamagedError: the stored data differs from the written data.
        """

    @abstractmethod
    def uploads(self, directory: str) -> Iterator[UploadStatus]:
        """Uploads below a directory that are neither complete nor discarded, for example uploads of
        dead processes. Empty for storages that cannot list uploads and expire them on their own.
        """

    @abstractmethod
    def abort(self, token: str) -> None:
        """Discard an upload that will never be committed."""

    def adopt(self, source: str, location: str, *, private: bool = True) -> PendingUpload:
        """An upload that makes the content of the file ``source`` visible at ``location``.

        The commit may delete the source; if the source is still there, the caller deletes it.
        """
        with self.open(source, buffered=False) as file:
            pending = self.begin(location, private=private)
            try:
                while data := file.read(_COPY_BYTES):
                    pending.write(data)
                return pending.persist()
            except BaseException:
                pending.discard()
                raise

    def publish(
        self,
        location: str,
        chunks: Iterable[bytes],
        durable: bool = True,
        *,
        exclusive: bool = False,
    ) -> int:
        """Write ``chunks`` as a private file that appears whole under its name; returns its size in
        bytes.

        Raises:
            FileExistsError: the file exists, and ``exclusive`` is True.
        """
        pending = self.begin(location, durable)
        try:
            for chunk in chunks:
                pending.write(chunk)
            return pending.complete(exclusive)
        except BaseException:
            pending.discard()
            raise

    # -- deleting, and directories ---------------------------------------------------------------

    @abstractmethod
    def delete(self, location: str) -> bool:
        """Delete a file; returns whether it existed, as far as that is known."""

    def delete_all(self, locations: Iterable[str]) -> None:
        """Delete many files, with few requests where that matters; missing files are skipped.
        Raises the first error after trying all."""
        errors: list[OSError] = []
        for location in locations:
            try:
                self.delete(location)
            except OSError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    @abstractmethod
    def make_directory(self, directory: str, durable: bool = True, *, private: bool = True) -> None:
        """Make a directory and its parents, on storages that have directories."""

    @abstractmethod
    def delete_directory(self, directory: str) -> None:
        """Delete a directory with its content; has no effect if there is none."""

    def remove_empty(self, directory: str) -> None:
        """Delete a directory if it exists and is empty, on storages that have directories."""

    def lock(self, location: str, wait: bool = False) -> FileLock | None:
        """Create and lock a file; None if another process has the lock and ``wait`` is False.

        Raises:
            OSError: the storage has no locks (see `has_locks`), or the file cannot be opened.
        """
        raise io.UnsupportedOperation(f"{type(self).__name__} has no locks")
