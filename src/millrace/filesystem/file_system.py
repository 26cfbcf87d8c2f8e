"""The file system protocol: what checkpoints, savepoints and file connectors ask of a storage.

It is what a disk and an object store both can do. There is no rename: a file *appears* whole under
its name when it is completed. Who is first to create a file, and who replaces the content that it
has read, is decided by the storage: `PendingFile.complete` with ``exclusive``, and
`FileSystem.write_if`. What is to appear later, perhaps by another process, is a `PendingUpload`.
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
"""Names one content of a file; opaque. Object stores: the entity tag."""
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file that is there."""

    location: str
    length: int
    """Bytes."""
    modified: float
    """Seconds since the epoch of Unix."""


@dataclass(frozen=True, slots=True)
class UploadStatus:
    """An upload that was begun and has not appeared."""

    location: str
    """The file that it was to become."""
    token: str
    modified: float
    """When something was last written; seconds since the epoch of Unix."""


class UploadDamagedError(OSError):
    """An upload is not what was written, and must not become visible."""


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """A file that is written and not visible yet. Any process that sees the storage can make it
    appear with `FileSystem.commit`, so it may travel in checkpoints."""

    location: str
    """The file that it becomes."""
    token: str
    """What the file system knows it by: a temporary name, or the id and parts of an upload."""
    length: int
    """Bytes."""


def require_written(upload: PendingUpload, found: int | None, at: str | None = None) -> None:
    """Refuse an upload of which there is something else than was written.

    Args:
        found: bytes that are there; None: there is nothing.
        at: where they are; None: at the upload's location.

    Raises:
        FileNotFoundError: neither the file nor its upload is there.
        UploadDamagedError: there are more bytes or fewer.
    """
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "neither it nor its upload is there", upload.location)
    if found != upload.length:
        raise UploadDamagedError(
            errno.EIO,
            f"it has {found} bytes, but {upload.length} were written",
            at or upload.location,
        )


class PendingFile(io.RawIOBase):
    """A file that is being written: nobody sees it before it is complete.

    As a context manager it is completed, or discarded when an exception leaves the block.
    """

    def writable(self) -> bool:
        return True

    @abstractmethod
    def write(self, data: Any) -> int:
        """Append bytes; returns how many."""

    @abstractmethod
    def tell(self) -> int:
        """How many bytes have been written."""

    def rest(self) -> None:
        """Nothing is appended for a while. What has come together goes to the disk a little at a
        time, lest the flush at the end keeps it busy when somebody else wants it."""

    def sync(self, also: Sequence[str] = ()) -> None:
        """Make durable what was written and, at the same time, these: files that were written
        without durability, and directories for the names in them. A waste of time where all that
        is complete is durable."""

    @abstractmethod
    def complete(self, exclusive: bool = False) -> int:
        """Make it appear whole under its name; returns its bytes.

        Args:
            exclusive: unless there is a file of that name, which is replaced otherwise.

        Raises:
            FileExistsError: there is a file, and this was to be the first.
        """

    @abstractmethod
    def persist(self) -> PendingUpload:
        """Nothing more follows; it is to appear when `FileSystem.commit` is called."""

    @property
    @abstractmethod
    def token(self) -> str:
        """Return the name by which `FileSystem.uploads` lists it as long as it is not complete."""

    @abstractmethod
    def discard(self) -> None:
        """Forget it, unless it is complete or persisted. Never fails."""

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
    """A lock that is held; it is released when its process dies, too."""

    @abstractmethod
    def is_current(self) -> bool:
        """Whether whoever asks for the lock now would find it taken: False if its file was deleted
        or replaced."""

    @abstractmethod
    def release(self) -> None:
        """Release it; again, and nothing happens."""

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
    """Whether directories exist by themselves, so that they have to be made and removed."""
    has_locks: ClassVar[bool] = False
    """Whether there are locks (`lock`) that end with their process."""

    # -- reading -------------------------------------------------------------------------------

    @abstractmethod
    def open(self, location: str, buffered: bool = True) -> BinaryIO:
        """Open a file for reading from any position.

        Args:
            buffered: False: for whoever reads big pieces only.

        Raises:
            FileNotFoundError: there is no such file.
        """

    @abstractmethod
    def status(self, location: str) -> FileStatus | None:
        """Return a file's size and time; None: there is no such file (it may be a directory)."""

    @abstractmethod
    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        """The complete files in a directory, with ``recursive`` in those below, too; in no
        particular order. Nothing if there is no such directory."""

    @abstractmethod
    def directories(self, directory: str) -> Iterator[str]:
        """The names of the directories in a directory."""

    @abstractmethod
    def is_directory(self, directory: str) -> bool:
        """Whether there is a directory of that name, which may be empty where such things exist."""

    def canonical(self, location: str) -> str:
        """The one name of what may have several."""
        return location

    def is_link(self, location: str) -> bool:
        """Whether it stands for something that is elsewhere."""
        return False

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from ``offset`` on, at most ``length``; fewer at its end.

        Raises:
            FileNotFoundError: there is no such file.
        """
        with self.open(location, buffered=False) as file:
            file.seek(offset)
            return file.read() if length is None else file.read(length)

    @abstractmethod
    def read_version(self, location: str) -> tuple[bytes, Version] | None:
        """The content of a small file and its version, for `write_if`; None: there is none."""

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
            durable: whether it must survive the machine's power once it is complete.
            make_parents: False: writing fails if its directory is gone, where directories exist.
        """

    def sync(self, locations: Sequence[str]) -> None:
        """Make durable, all at once, files that were written without durability, and directories
        for the names in them. Nothing to do where all that is complete is durable."""

    @abstractmethod
    def write_if(self, location: str, data: bytes, version: Version | None) -> Version | None:
        """Replace a file that still has a version, durably; for small ones.

        Args:
            version: as `read_version` gave it; None: there must be no file of that name.

        Returns:
            The new version. None: the condition does not hold, and nothing was written. Of several
            callers, in whatever processes, one succeeds.
        """

    @abstractmethod
    def commit(self, uploads: Sequence[PendingUpload]) -> None:
        """Make them appear, durably. Those that have appeared before are passed over.

        Raises:
            FileNotFoundError: an upload is gone, and has not appeared.
            FileExistsError: there is another file of that name.
            UploadDamagedError: it is not what was written.
        """

    @abstractmethod
    def uploads(self, directory: str) -> Iterator[UploadStatus]:
        """Yield uploads begun below a directory and neither completed nor discarded, as processes
        that die leave them. Nothing where the storage cannot list them and expires them itself."""

    @abstractmethod
    def abort(self, token: str) -> None:
        """Forget an upload that nobody will commit."""

    def adopt(self, source: str, location: str, *, private: bool = True) -> PendingUpload:
        """An upload that makes what is in the file ``source`` appear at ``location``.

        The source may go when the upload is committed, or stay: whoever calls deletes it then.
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
        """Make a private file of these pieces appear whole under its name; returns its bytes.

        Raises:
            FileExistsError: there is a file of that name, and this was to be the first.
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
        """Delete a file; whether there was one, as far as it can be told."""

    def delete_all(self, locations: Iterable[str]) -> None:
        """Delete many files, with few requests where that matters; what is not there is passed
        over. Raises the first error after all have been tried."""
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
        """Make a directory and its parents where such things exist."""

    @abstractmethod
    def delete_directory(self, directory: str) -> None:
        """Delete a directory with all that is in it; nothing happens if there is none."""

    def remove_empty(self, directory: str) -> None:
        """Delete a directory if it is there and empty, where such things exist."""

    def lock(self, location: str, wait: bool = False) -> FileLock | None:
        """Lock a file, which is made; None: somebody else has the lock, and ``wait`` is False.

        Raises:
            OSError: there are no locks here (see `has_locks`), or the file cannot be opened.
        """
        raise io.UnsupportedOperation(f"{type(self).__name__} has no locks")
