"""Text that any file and any JSON can hold."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """The text with lone surrogates escaped, which names of files and data may contain."""
    return text.encode("utf-8", "backslashreplace").decode()
