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
        if not is_hidden(name):
            yield from _walk(files, f"{directory}/{name}")
