"""A namenode, or a name service of several namenodes. Operations take paths, and raise errors of
the operating system in place of the errors of HDFS and its client.

A namenode sends the stack trace of its exception: messages keep its first line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["NameService", "normal", "refusals"]

_ATTEMPTS = {"dfs.client.failover.max.attempts": "5"}
"""Number of attempts, which take about 30 seconds; the client's default takes three minutes."""
_CONFIGURED = ("HADOOP_CONF_DIR", "HADOOP_HOME")
_SLASHES = re.compile("/{2,}")


class NameService:
    """The client of one authority; thread-safe, but unusable in a forked process.

    Args:
        authority: ``host:port``, or the name of a service in ``hdfs-site.xml``; empty: that of
            ``fs.defaultFS``.
    """

    def __init__(self, authority: str) -> None:
        from hdfs_native import Client, WriteOptions

        self._write_options: Any = WriteOptions
        self._root = f"hdfs://{authority}"
        with refusals(self._root):
            # who has configured Hadoop has said there how often to try
            configured = any(map(os.environ.get, _CONFIGURED))
            self._client: Any = Client(self._root, None if configured else _ATTEMPTS)

    def info(self, path: str) -> Any | None:
        """Status of a file or directory; None if there is none."""
        try:
            with refusals(self._root + path):
                return self._client.get_file_info(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def entries(self, path: str) -> Iterator[Any]:
        """Entries of a directory; empty if it does not exist."""
        try:
            with refusals(self._root + path):
                for entry in self._client.list_status(path):
                    if entry.path != path or entry.isdir:  # else it is a file, which lists itself
                        yield entry
        except (FileNotFoundError, NotADirectoryError):
            return

    def reader(self, path: str) -> Any:
        """Open a file for reading. Raises FileNotFoundError if there is none."""
        with refusals(self._root + path):
            return self._client.read(path)

    def read_range(self, path: str, reader: Any, start: int, length: int) -> bytes:
        """``length`` bytes of an open file from position ``start``; the file must be long
        enough."""
        with refusals(self._root + path):
            return bytes(reader.read_range(start, length))

    def write(
        self,
        path: str,
        writer: Any | None,
        data: Any,
        permission: int,
        make_parents: bool,
    ) -> Any:
        """Append to a file, which is created if it has no writer yet; returns the writer.

        Raises:
            FileExistsError: the file is to be created, but exists.
        """
        with refusals(self._root + path):
            if writer is None:
                options = self._write_options(permission=permission, create_parent=make_parents)
                writer = self._client.create(path, options)
            if len(data):
                writer.write(data)
            return writer

    def close(self, path: str, writer: Any, flush: bool) -> None:
        """Close a written file; with ``flush``, to the disks of its datanodes."""
        with refusals(self._root + path):
            if flush:
                writer.hsync()
            writer.close()

    def rename(self, source: str, target: str, overwrite: bool = False) -> None:
        """Rename a file or directory in one step.

        Raises:
            FileNotFoundError: ``source`` does not exist.
            FileExistsError: ``target`` exists, and ``overwrite`` is False.
        """
        with refusals(self._root + target):
            self._client.rename(source, target, overwrite=overwrite)

    def delete(self, path: str, recursive: bool = False) -> bool:
        """Delete a file, an empty directory, or a directory with its content; returns whether it
        existed."""
        try:
            with refusals(self._root + path):
                return bool(self._client.delete(path, recursive))
        except FileNotFoundError:
            return False

    def make_directory(self, path: str, permission: int) -> None:
        """Make a directory and its missing parents, all with the same permission."""
        missing = []
        while path not in ("", "/") and self.info(path) is None:
            missing.append(path)
            path = path.rpartition("/")[0]
        for path in reversed(missing):
            with refusals(self._root + path):
                self._client.mkdirs(path, permission, create_parent=True)


def normal(path: str) -> str:
    """A path in the form that namenodes use.

    >>> normal("//a//b/"), normal("")
    ('/a/b', '/')
    """
    return _SLASHES.sub("/", path).rstrip("/") or "/"


_REMOTE = re.compile(r'RPCError\("(?:[\w$]+\.)*([\w$]+)", "(.*)', re.DOTALL)
_NUMBERS: dict[type[BaseException], int] = {
    FileNotFoundError: errno.ENOENT,
    FileExistsError: errno.EEXIST,
    PermissionError: errno.EACCES,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
}
_REMOTE_NUMBERS = {
    "AccessControlException": errno.EACCES,
    "DSQuotaExceededException": errno.EDQUOT,
    "FileAlreadyExistsException": errno.EEXIST,
    "NSQuotaExceededException": errno.EDQUOT,
    "ParentNotDirectoryException": errno.ENOTDIR,
    "PathIsNotEmptyDirectoryException": errno.ENOTEMPTY,
}


@contextlib.contextmanager
def refusals(location: str) -> Iterator[None]:
    """Context that converts the client's errors about ``location`` to `OSError`."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise  # it is ours
        number = next((n for kind, n in _NUMBERS.items() if isinstance(error, kind)), errno.EIO)
        raise OSError(number, _first_line(str(error)), location) from None
    except (RuntimeError, ValueError) as error:
        raise _of_namenode(str(error), location) from None


def _of_namenode(text: str, location: str) -> OSError:
    match = _REMOTE.match(text)
    if match is None:
        return OSError(errno.EIO, _first_line(text), location)
    number = _REMOTE_NUMBERS.get(match[1], errno.EIO)
    return OSError(number, f"{match[1]}: {_first_line(match[2])}", location)


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition("\\n")[0].strip()
