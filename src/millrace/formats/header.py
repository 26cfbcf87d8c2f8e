"""Encoders whose files begin with a header."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["HasHeader"]


@runtime_checkable
class HasHeader(Protocol):
    """An encoder that writes a header at the beginning of each part file."""

    def header(self) -> bytes:
        """Header of a file in bytes; may be empty."""
        ...
