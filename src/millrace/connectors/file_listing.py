"""Which files a path stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from millrace.common.errors import JobDefinitionError
from millrace.connectors.errors import SourceFileError

__all__ = ["is_hidden", "list_files", "local_path"]


def is_hidden(name: str) -> bool:
    """Whether readers ignore a file of this name, as Flink, Spark and Hive do.

    >>> is_hidden(".part-0.inprogress"), is_hidden("_SUCCESS"), is_hidden("part-0")
    (True, True, False)
    """
    return name.startswith((".", "_"))


def local_path(path: str | os.PathLike[str]) -> str:
    """An absolute path; ``file://`` URIs are taken too.

    Raises:
        JobDefinitionError: the path belongs to another file system.
    """
    text = os.fspath(path)
    scheme = urlsplit(text).scheme
    if scheme == "file":
        text = unquote(urlsplit(text).path)
    elif "://" in text:
        raise JobDefinitionError(
            f"{text}: file connectors read and write local or mounted file systems, not "
            f"{scheme}://. A Spark reader can read it: env.from_dataframe(spark.read...)"
        )
    return os.path.abspath(text)


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
