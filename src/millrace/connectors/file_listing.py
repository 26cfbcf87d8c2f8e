"""Which files a path stands for."""

from __future__ import annotations

from millrace.connectors.errors import SourceFileError
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
    prefix = len(root.rstrip("/")) + 1
    found = (status.location for status in files.list(root, recursive=True))
    return sorted(path for path in found if not any(map(is_hidden, path[prefix:].split("/"))))
