"""Uploads: objects that are written in pieces and become visible later, maybe by another
process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from millrace.filesystem.file_system import PendingUpload, UploadStatus

__all__ = ["Upload", "Uploads"]


class Upload(ABC):
    """An upload that this process has begun."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The store's id of the upload, which contains no ``#``."""

    @abstractmethod
    def add(self, data: Any) -> None:
        """Append a piece. Only the last piece may be small."""

    @abstractmethod
    def seal(self) -> None:
        """End the upload, for a later commit."""

    @abstractmethod
    def finish(self, exclusive: bool) -> None:
        """Make the upload visible. With ``exclusive``, raises FileExistsError if the key is
        taken."""

    @abstractmethod
    def abort(self) -> None:
        """Discard the upload."""


class Uploads(ABC):
    """The uploads of a bucket."""

    piece = 8 << 20
    """Size of a piece in bytes."""

    @abstractmethod
    def begin(self, key: str) -> Upload:
        """Begin an upload in parts."""

    @abstractmethod
    def commit(self, upload: PendingUpload, key: str, id: str) -> None:
        """Make a sealed upload visible; see `FileSystem.commit`."""

    @abstractmethod
    def pending(self, root: str, prefix: str) -> Iterator[UploadStatus]:
        """Uploads below a prefix that are not visible; ``root`` comes before the keys in their
        locations.
        """

    @abstractmethod
    def abort(self, key: str, id: str) -> None:
        """Discard an upload, if it still exists."""

    def is_hidden(self, key: str) -> bool:
        """Whether an object is part of an upload."""
        return False


def token_of(location: str, id: str) -> str:
    """Token of an upload: the engine's name for it."""
    return f"{location}#{id}"


def parsed(token: str) -> tuple[str, str]:
    """The location and the id in a token."""
    location, _, id = token.rpartition("#")
    return location, id
