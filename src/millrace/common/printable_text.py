"""Text that any file and any JSON can hold."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """A text whose lone surrogates are escaped. Names of files may have some, and data, too."""
    return text.encode("utf-8", "backslashreplace").decode()
