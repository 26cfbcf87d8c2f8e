"""Conversion of errors of HDFS and its client to errors of the operating system.

A namenode sends the stack trace of its exception: messages keep its first line.
"""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator

__all__ = ["refusals"]

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
    found = _REMOTE.match(text)
    if found is None:
        return OSError(errno.EIO, _first_line(text), location)
    number = _REMOTE_NUMBERS.get(found[1], errno.EIO)
    return OSError(number, f"{found[1]}: {_first_line(found[2])}", location)


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition("\\n")[0].strip()
