"""Recognition of errors that a full disk has caused."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

__all__ = ["full_disk"]

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
POSTGRESQL_DISK_FULL = "53100"


def full_disk(error: BaseException) -> str | None:
    """Message for the person who has to free disk space; None if no disk is full.

    Example:
        >>> text = full_disk(OSError(errno.ENOSPC, "No space left on device", "/data/x"))
        >>> text.partition(": ")[0]
        "there is no space left on the server's disk for /data/x"
        >>> text.partition(": ")[2]
        'nothing was stored; free some space there'
        >>> full_disk(OSError(errno.EACCES, "Permission denied"))
    """
    for each in _with_causes(error):
        if isinstance(each, OSError) and each.errno in NO_SPACE:
            return _sentence("the server's disk" + (f" for {each.filename}" * bool(each.filename)))
        if getattr(each, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return _sentence("the disk of the server's registry")
        if getattr(each, "sqlstate", None) == POSTGRESQL_DISK_FULL:
            return _sentence("the disk of the registry's PostgreSQL")
    return None


def _sentence(where: str) -> str:
    return f"there is no space left on {where}: nothing was stored; free some space there"


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes: SQLAlchemy's errors have the database's error as their cause."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
