"""A part of a log that may still be written."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

__all__ = ["DEFAULT_BYTES", "LogPart", "log_part"]

DEFAULT_BYTES = 64 << 10


class LogPart(msgspec.Struct, frozen=True):
    """A part of a log; the next request continues at ``next``."""

    offset: int
    """Position in the log, in bytes, where the text begins."""
    next: int
    """Position in the log, in bytes, after the text."""
    size: int
    """Size of the whole log in bytes."""
    text: str


def log_part(path: Path, offset: int, limit: int = DEFAULT_BYTES) -> LogPart:
    """A part of a log that may still be written; empty if the file does not exist.

    Args:
        offset: position in bytes, counted from the end if negative. If the log is shorter, it
            was begun anew, and is read from its beginning.
        limit: largest size of the text in bytes.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = max(0, size + offset) if offset < 0 else offset
            if start > size:
                start = 0
            file.seek(start)
            data = file.read(min(limit, max(0, size - start)))
    except (FileNotFoundError, NotADirectoryError):
        return LogPart(0, 0, 0, "")
    data = _whole_characters(data)
    return LogPart(start, start + len(data), size, data.decode(errors="replace"))


def _whole_characters(data: bytes) -> bytes:
    """Bytes without an incomplete last character. If they consist only of this character, they
    are returned unchanged, because its writer may have died."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        cut = length > back and len(data) > back
        return data[:-back] if cut else data
    return data
