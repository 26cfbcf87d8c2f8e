"""The file system protocol: what checkpoints, savepoints and file connectors ask of a storage.

It is what a disk and an object store both can do. There is no rename: a file *appears* whole under
its name when it is published, and two writers of one name are told apart by `create_exclusive`.
Flink docs, "File Systems"; Flink's ``RecoverableWriter`` and object stores' conditional puts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO

__all__ = ["FileStatus", "FileSystem", "PendingFile"]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file that is there."""

    location: str
    length: int
    """Bytes."""
    modified: float
    """Seconds since the epoch of Unix."""


class PendingFile(ABC):
    """A file that is being written: nobody sees it before it is complete.

    As a context manager it is completed, or discarded when an exception leaves the block.
    """

    @abstractmethod
    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append."""

    @abstractmethod
    def complete(self) -> int:
        """Make it appear whole under its name, in place of one of that name; returns its bytes."""

    @abstractmethod
    def discard(self) -> None:
        """Forget it, unless it is complete. Never fails."""

    def __enter__(self) -> PendingFile:
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


class FileSystem(ABC):
    """A storage of files by location. Implementations are thread-safe, and raise OSError.

    Locations are qualified: absolute paths, or URIs with a scheme. Directories exist as long as
    there are files in them, as far as anybody can tell; making one first is allowed, and cheap.
    """

    @abstractmethod
    def open(self, location: str) -> BinaryIO:
        """Open a file for reading from any position.

        Raises:
            FileNotFoundError: there is no such file.
        """

    @abstractmethod
    def status(self, location: str) -> FileStatus | None:
        """What is known of a file; None: there is no file of that name (it may be a directory)."""

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

    @abstractmethod
    def begin(self, location: str, durable: bool = True) -> PendingFile:
        """Begin to write a file.

        Args:
            durable: whether it must survive the machine's power once it is complete.
        """

    @abstractmethod
    def create_exclusive(self, location: str, data: bytes) -> bool:
        """Make a file appear whole and durable, unless there is one of that name.

        Returns:
            Whether it is this one: of several callers, in whatever processes, one gets True.
        """

    @abstractmethod
    def delete(self, location: str) -> bool:
        """Delete a file; whether there was one."""

    @abstractmethod
    def make_directory(self, directory: str, durable: bool = True) -> None:
        """Make a directory and its parents where such things exist."""

    @abstractmethod
    def delete_directory(self, directory: str) -> None:
        """Delete a directory with all that is in it; nothing happens if there is none."""

    def publish(self, location: str, chunks: Iterable[bytes], durable: bool = True) -> int:
        """Make a file of these pieces appear whole under its name; returns its bytes."""
        pending = self.begin(location, durable)
        try:
            for chunk in chunks:
                pending.write(chunk)
            return pending.complete()
        except BaseException:
            pending.discard()
            raise

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from ``offset`` on, at most ``length``; fewer at its end.

        Raises:
            FileNotFoundError: there is no such file.
        """
        with self.open(location) as file:
            file.seek(offset)
            return file.read() if length is None else file.read(length)
