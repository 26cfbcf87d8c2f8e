"""Replacement of an HDFS file on the condition that its content is unchanged, which HDFS itself
does not offer.

The new content waits in a directory whose name is the lock: renaming a directory to that name takes
the lock, for one of many, and renaming the file out of it publishes. A process that finds a lock
which does not come free deletes the file in it. So a holder that wakes up late has nothing left to
publish: breaking a lock needs no clock that all agree on, and does no harm when its holder lives.
"""

from __future__ import annotations

import contextlib
import errno
import re
import time
import uuid
from collections.abc import Callable

from millrace.filesystem.hdfs.name_service import NameService

__all__ = ["ABANDONED_AGE", "LOCK_SUFFIX", "remove_abandoned", "replace_if"]

LOCK_SUFFIX = ".lock"
ABANDONED_AGE = 3600.0
"""Seconds after which a prepared file counts as abandoned; a writer needs a few hundredths."""
_PATIENCE = 3.0
"""Seconds after which the lock of one holder is broken; a holder needs a few hundredths."""
_PAUSE = 0.02
_DIRECTORY, _FILE = 0o700, 0o600


def replace_if(
    names: NameService,
    path: str,
    data: bytes,
    unchanged: Callable[[], bool],
    published: Callable[[], bool],
    patience: float = _PATIENCE,
) -> bool:
    """Replace a file, while no other process replaces it, if ``unchanged`` returns true; returns
    whether it was replaced.

    Args:
        published: whether the file has the new content. It is called after doubtful renames: if
            the answer to a rename is lost, the client repeats it and finds nothing to rename.
        patience: seconds for which each other process may hold the lock.
    """
    directory, _, name = path.rpartition("/")
    lock = f"{directory}/.{name}{LOCK_SUFFIX}"
    unknown = False
    while True:
        mark = uuid.uuid4().hex
        staged = f"{directory}/.{name}.{mark}{LOCK_SUFFIX}"
        try:
            names.make_directory(staged, _DIRECTORY)
            content = f"{staged}/{mark}"
            names.close(content, names.write(content, None, data, _FILE, False), bool(data))
            _take(names, staged, lock, mark, patience)
        except BaseException:
            with contextlib.suppress(OSError):
                names.delete(staged, recursive=True)
            raise
        try:
            if not unchanged():
                return unknown and published()
            names.rename(f"{lock}/{mark}", path, overwrite=True)
            return True
        except FileNotFoundError:
            unknown = True  # somebody took us for dead, or the answer was lost
            continue
        finally:
            _release(names, lock, mark)


def remove_abandoned(names: NameService, path: str, now: Callable[[], float] = time.time) -> None:
    """Remove the files that killed writers prepared at least an hour ago, and the lock of a killed
    process.

    Args:
        now: seconds since 1970.
    """
    directory, _, name = path.rpartition("/")
    mine = re.compile(re.escape(f".{name}") + r"(\.[0-9a-f]{32})?" + re.escape(LOCK_SUFFIX))
    latest = (now() - ABANDONED_AGE) * 1000
    for entry in list(names.entries(directory)):
        entry_name = entry.path.rpartition("/")[2]
        if entry.isdir and mine.fullmatch(entry_name) and entry.modification_time <= latest:
            names.delete(entry.path, recursive=True)


def _take(names: NameService, staged: str, lock: str, mark: str, patience: float) -> None:
    """Wait for the lock, and break it if its holder does not change for long."""
    holder, since = "", time.monotonic()
    while True:
        try:
            names.rename(staged, lock)
            return
        except (FileNotFoundError, FileExistsError) as error:
            current = next((entry.path for entry in names.entries(lock)), "")
            if current == f"{lock}/{mark}":
                return  # the answer was lost, and the rename sent again
            if isinstance(error, FileNotFoundError):
                raise
            if current != holder:
                holder, since = current, time.monotonic()
            elif not holder or time.monotonic() - since > patience:
                _release(names, lock, holder.rpartition("/")[2])
            time.sleep(_PAUSE)


def _release(names: NameService, lock: str, mark: str) -> None:
    """Remove the content of a holder, and the lock unless it belongs to another by now."""
    if mark:
        names.delete(f"{lock}/{mark}")
    try:
        names.delete(lock)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
