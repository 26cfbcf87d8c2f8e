"""Clean-up of a file source: archives or deletes files that have been read."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from logging import Logger, getLogger

from millrace.common.errors import JobDefinitionError
from millrace.connectors.file_listing import before_wildcards
from millrace.filesystem.registry import file_system_of

__all__ = ["CleanUp", "FileVersion", "SourceFileCleaner"]

FileVersion = tuple[int, float]
"""A file's size (bytes) and time of modification (seconds since the epoch of Unix)."""
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The action taken on a source's files once they have been read.

    Args:
        roots: the directories (or files) that are read.
        archive: directory to which files are moved; None to delete them.
    """

    roots: tuple[str, ...]
    archive: str | None

    @staticmethod
    def create(paths: Sequence[str], archive: str | None) -> CleanUp:
        """Clean-up action for a source with the given paths.

        Raises:
            JobDefinitionError: what is archived would be read again.
        """
        roots = tuple(before_wildcards(path) or path for path in paths)
        for root in roots if archive is not None else ():
            if _is_below(archive, root) or _is_below(root, archive):
                raise JobDefinitionError(
                    f"one of the archive {archive} and the source path {root} is inside the "
                    "other, so files would be read again; choose an archive outside"
                )
        return CleanUp(roots, archive)


class SourceFileCleaner:
    """Moves files into an archive, or deletes them, in a thread of its own.

    What is to be cleaned is part of checkpoints, and cleaned again by a run that resumes: each step
    may be repeated. A file is deleted only when it is complete in the archive, and only if it is
    still the file that was read.
    """

    def __init__(self, clean_up: CleanUp) -> None:
        self._roots, self._archive = clean_up.roots, clean_up.archive
        self._logger = getLogger("millrace.source")
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[str, FileVersion] = {}
        self._running: dict[str, Future[None]] = {}

    def start(self, logger: Logger) -> None:
        """Finish the clean-up of the previous run before the source looks for files, because
        files found afterwards count as new."""
        self._logger = logger
        self.clean()
        wait(self._running.values())

    def add(self, path: str, version: FileVersion) -> None:
        """Add a file that has been read completely to the files that the next `clean` removes."""
        self._waiting[path] = version

    def clean(self) -> None:
        """Start the clean-up of all added files, after a checkpoint that covers them."""
        for path, version in self._waiting.items():
            if path not in self._running:
                self._pool = self._pool or ThreadPoolExecutor(1, "millrace-source-files")
                self._running[path] = self._pool.submit(self._clean, path, version)

    def cleaned(self) -> list[str]:
        """Files that were removed or replaced since the last call. A failed clean-up is retried
        after the next checkpoint.
        """
        done = [path for path, running in self._running.items() if running.done()]
        gone = []
        for path in done:
            error = self._running.pop(path).exception()
            if error is None:
                del self._waiting[path]
                gone.append(path)
            else:
                self._logger.warning("%s was read and cannot be moved away: %s", path, error)
        return gone

    def waiting(self) -> dict[str, FileVersion]:
        """Files that have been read but not cleaned up yet; they are part of a checkpoint."""
        return dict(self._waiting)

    def close(self) -> None:
        """Finish the clean-ups that have started."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self.cleaned()

    def _clean(self, path: str, version: FileVersion) -> None:
        files = file_system_of(path)
        status = files.status(path)
        if status is None:
            return
        if (status.length, status.modified) != version:
            self._logger.warning("%s was replaced since it was read: it is a new file", path)
        elif self._archive is None:
            files.delete(path)
        else:
            self._move(path)

    def _move(self, path: str) -> None:
        for target in _names(f"{self._archive}/{self._relative(path)}"):
            there = file_system_of(target).status(target) is not None
            if not there and _moved(path, target):
                return
            if there and _same_content(path, target):  # copied before a crash
                file_system_of(path).delete(path)
                return

    def _relative(self, path: str) -> str:
        above = [root for root in self._roots if path.startswith(f"{root}/")]
        return path[len(max(above, key=len)) + 1 :] if above else path.rpartition("/")[2]


def _is_below(path: str | None, directory: str | None) -> bool:
    assert path is not None
    assert directory is not None
    path, directory = (file_system_of(p).canonical(p).rstrip("/") for p in (path, directory))
    return f"{path}/".startswith(f"{directory}/")


def _names(wanted: str) -> Iterator[str]:
    """The name, and numbered alternatives for files that were replaced under the same name."""
    directory, _, name = wanted.rpartition("/")
    stem, dot, suffix = name.partition(".")
    yield wanted
    number = 1
    while True:
        yield f"{directory}/{stem}-{number}{dot}{suffix}"
        number += 1


def _moved(path: str, target: str) -> bool:
    """Move a file; returns False if another file has taken the name."""
    files, targets = file_system_of(path), file_system_of(target)
    targets.make_directory(target.rpartition("/")[0], private=False)
    try:
        if files is targets and files.has_directories:
            try:
                files.commit([files.adopt(path, target, private=False)])
                return True
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
        with files.open(path, buffered=False) as file:
            pending = targets.begin(target, private=False)
            try:
                while data := file.read(_BLOCK):
                    pending.write(data)
                pending.complete(exclusive=True)
            finally:
                pending.discard()
    except FileExistsError:
        return False
    files.delete(path)
    return True


def _same_content(path: str, target: str) -> bool:
    files, targets = file_system_of(path), file_system_of(target)
    with files.open(path) as one, targets.open(target) as other:
        while True:
            data = one.read(_BLOCK)
            if data != other.read(_BLOCK):
                return False
            if not data:
                return True
