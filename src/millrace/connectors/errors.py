"""Errors of sources and sinks, each with the file or address concerned."""

from __future__ import annotations

from millrace.common.errors import MillraceError

__all__ = ["ConnectorError", "PartFileError", "SocketSourceError", "SourceFileError"]


class ConnectorError(MillraceError):
    """A source cannot read, or a sink cannot write; the base class of all connector errors."""


class SourceFileError(ConnectorError):
    """An input file vanished, shrank or cannot be read.

    Args:
        path: the file.
        reason: what is wrong with it and what to do.
        damaged: the file itself is at fault; the next attempt would find the same.
    """

    def __init__(self, path: str, reason: str, damaged: bool = False) -> None:
        super().__init__(path, reason, damaged)
        self.path = path
        self.reason = reason
        self.damaged = damaged

    def __str__(self) -> str:
        return f"cannot read {self.path}: {self.reason}"


class PartFileError(ConnectorError):
    """A part file of a file sink cannot be written or made visible.

    Args:
        path: the part file.
        reason: what is wrong with it and what to do.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"part file {self.path}: {self.reason}"


class SocketSourceError(ConnectorError):
    """A socket source cannot connect, or lost its connection."""
