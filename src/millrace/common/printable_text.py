"""Text that can be written to any file and to JSON."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """The text with its lone surrogates escaped. Names of files, and data, may contain such
    surrogates.
    """
    return text.encode("utf-8", "backslashreplace").decode()
