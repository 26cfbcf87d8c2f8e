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
    for cause in _with_causes(error):
        if isinstance(cause, OSError) and cause.errno in NO_SPACE:
            return _sentence(
                "the server's disk" + (f" for {cause.filename}" * bool(cause.filename))
            )
        if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return _sentence("the disk of the server's registry")
        if getattr(cause, "sqlstate", None) == POSTGRESQL_DISK_FULL:
            return _sentence("the disk of the registry's PostgreSQL")
    return None


def _sentence(where: str) -> str:
    return f"there is no space left on {where}: nothing was stored; free some space there"


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes: SQLAlchemy's errors have the database's error as their cause."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
