"""Which files a path stands for."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.connectors.errors import SourceFileError
from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.registry import file_system_of

__all__ = ["is_hidden", "list_files"]


def is_hidden(name: str) -> bool:
    """Whether readers ignore a file of this name, as Flink, Spark and Hive do.

    >>> is_hidden(".part-0.inprogress"), is_hidden("_SUCCESS"), is_hidden("part-0")
    (True, True, False)
    """
    return name.startswith((".", "_"))


def list_files(root: str) -> list[str]:
    """The file, or all files below the directory without hidden ones, sorted by path.

    Raises:
        SourceFileError: there is nothing of that name.
    """
    files = file_system_of(root)
    if files.status(root) is not None:
        return [root]
    if not files.is_directory(root):
        raise SourceFileError(root, "there is no such file or directory")
    return sorted(_walk(files, root.rstrip("/")))


def _walk(files: FileSystem, directory: str) -> Iterator[str]:
    # what is hidden is not listed: it may be large, and nobody's business
    for status in files.list(f"{directory}/"):
        if not is_hidden(status.location.rpartition("/")[2]):
            yield status.location
    for name in files.directories(f"{directory}/"):
        below = f"{directory}/{name}"
        if not is_hidden(name) and not _leads_back(files, below):
            yield from _walk(files, below)


def _leads_back(files: FileSystem, directory: str) -> bool:
    """Whether it is a link to a directory that it is in itself."""
    if not files.is_link(directory):
        return False
    target, above = files.canonical(directory), directory
    while above := above.rpartition("/")[0]:
        if files.canonical(above) == target:
            return True
    return False
