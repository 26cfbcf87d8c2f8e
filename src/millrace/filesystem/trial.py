"""A trial of a checkpoint directory: whether files of one process are visible to others, and
whether only one of two conditional writes to the same file succeeds."""

from __future__ import annotations

import uuid

from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.location import located
from millrace.filesystem.registry import file_system_of, resolved

__all__ = ["StorageTrial"]

_FIRST = "first"
_CLAIM = "claim"


class StorageTrial:
    """A trial of a directory, with files in a subdirectory. One process begins and ends the trial;
    other processes take part in between. All methods except `end` raise OSError.

    Args:
        place: the trial's directory, as `begin` made it.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._files: FileSystem = file_system_of(place)

    @staticmethod
    def begin(directory: str) -> StorageTrial:
        """Write the first file, and another one on the condition that it does not exist.

        Raises:
            OSError: the directory cannot be written.
            UnsupportedFileSystemSchemeError: no file system is known for it.
        """
        name = f".millrace-doctor-{uuid.uuid4().hex}"
        trial = StorageTrial(located(resolved(directory), name))
        try:
            trial._write(_FIRST)
            if trial._claim(None, b"1") is None:
                raise OSError("a new file was refused although there is no file of that name")
        except BaseException:
            trial.end()
            raise
        return trial

    def take_part(self, name: str) -> None:
        """Read the first file, write a file of this process, and check that an existing file cannot
        be created again.
        """
        self._read(_FIRST)
        self._write(name)
        if self._claim(None, b"2") is not None:
            raise OSError("a file that exists was made anew: conditional writes have no effect")

    def verify(self, name: str) -> None:
        """Read the file of a process that took part."""
        self._read(name)

    def verify_conditions(self) -> None:
        """Check that a file is replaced if its version is unchanged, and that it is not replaced if
        its version differs.
        """
        claim = self._files.read_version(located(self.place, _CLAIM))
        if claim is None:
            raise OSError("a file that was written on a condition is gone")
        if self._claim(claim[1], b"two") is None:
            raise OSError("a file that nobody has changed could not be replaced")
        if self._claim(claim[1], b"three") is not None:
            raise OSError("a file was replaced by its old version: conditional writes do nothing")

    def end(self) -> None:
        """Delete all files of the trial, as far as that is possible."""
        try:
            self._files.delete_directory(self.place)
        except OSError:
            return

    def _write(self, name: str) -> None:
        self._files.publish(located(self.place, name), [self._content(name)])

    def _read(self, name: str) -> None:
        location = located(self.place, name)
        try:
            content = self._files.read(location)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"a file that another process wrote is not there: {name}"
            ) from None
        if content != self._content(name):
            raise OSError(f"a file that another process wrote has other contents: {name}")

    def _claim(self, version: str | None, data: bytes) -> str | None:
        return self._files.write_if(located(self.place, _CLAIM), data, version)

    def _content(self, name: str) -> bytes:
        return f"{self.place.rpartition('/')[2]} {name}".encode()
