"""Lists the files that a path stands for."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from millrace.connectors.errors import SourceFileError
from millrace.filesystem.file_system import FileStatus, FileSystem
from millrace.filesystem.registry import file_system_of

__all__ = ["before_wildcards", "is_hidden", "list_files"]


def is_hidden(name: str) -> bool:
    """Whether readers ignore a file with this name, as Flink, Spark and Hive do.

    >>> is_hidden(".part-0.inprogress"), is_hidden("_SUCCESS"), is_hidden("part-0")
    (True, True, False)
    """
    return name.startswith((".", "_"))


def list_files(root: str) -> list[FileStatus]:
    """The file with this path, or all files below the directory except hidden ones, sorted by path.

    ``*``, ``?`` and ``[...]`` stand for (parts of) one name each, in a path that does not exist as
    it is; what matches may be directories.

    Raises:
        SourceFileError: there is nothing of that name.
    """
    files = file_system_of(root)
    if (status := files.status(root)) is not None:
        return [status]
    if files.is_directory(root):
        return sorted(_walk(files, root.rstrip("/")), key=_location)
    directory = before_wildcards(root)
    if directory is None:
        raise SourceFileError(root, "there is no such file or directory")
    pattern = root.rstrip("/").split("/")
    return [file for file in list_files(directory) if _matches(file.location, pattern)]


def _location(file: FileStatus) -> str:
    return file.location


def before_wildcards(path: str) -> str | None:
    """The directory in which wildcards begin; None if the path has no wildcards."""
    names = path.split("/")
    first = next((i for i, name in enumerate(names) if any(c in name for c in "*?[")), None)
    return None if first is None else "/".join(names[:first]) or "/"


def _matches(location: str, pattern: list[str]) -> bool:
    """Whether the pattern matches the file or one of its parent directories."""
    names = location.split("/")
    pairs = zip(names, pattern, strict=False)
    return len(names) >= len(pattern) and all(fnmatchcase(name, part) for name, part in pairs)


def _walk(files: FileSystem, directory: str) -> Iterator[FileStatus]:
    # what is hidden is not listed: it may be large, and nobody's business
    for status in files.list(f"{directory}/"):
        if not is_hidden(status.location.rpartition("/")[2]):
            yield status
    for name in files.directories(f"{directory}/"):
        below = f"{directory}/{name}"
        if not is_hidden(name) and not _leads_back(files, below):
            yield from _walk(files, below)


def _leads_back(files: FileSystem, directory: str) -> bool:
    """Whether the directory is a link to one of its own parent directories."""
    if not files.is_link(directory):
        return False
    target, above = files.canonical(directory), directory
    while above := above.rpartition("/")[0]:
        if files.canonical(above) == target:
            return True
    return False
