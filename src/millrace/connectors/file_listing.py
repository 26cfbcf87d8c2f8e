"""Which files a path stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from millrace.connectors.errors import SourceFileError

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
    if os.path.isdir(root):
        return sorted(_walk(root))
    if os.path.exists(root):
        return [root]
    raise SourceFileError(root, "there is no such file or directory")


def _walk(directory: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return  # it vanished since its parent was listed
    for entry in entries:
        if is_hidden(entry.name):
            continue
        if entry.is_dir():
            yield from _walk(entry.path)
        elif entry.is_file():
            yield entry.path
