"""Uploads: objects that are written in pieces and appear later, maybe by another process."""

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
        """The store's id of the upload; it has no ``#``."""

    @abstractmethod
    def add(self, data: Any) -> None:
        """Append a piece, which is big unless it is the last."""

    @abstractmethod
    def seal(self) -> None:
        """Nothing more follows; it is to be committed."""

    @abstractmethod
    def finish(self, exclusive: bool) -> None:
        """Let it appear. Raises FileExistsError if the key is taken and ``exclusive``."""

    @abstractmethod
    def abort(self) -> None:
        """Forget it."""


class Uploads(ABC):
    """The uploads of a bucket."""

    piece = 8 << 20
    """Bytes of a piece."""

    @abstractmethod
    def begin(self, key: str) -> Upload:
        """Begin one."""

    @abstractmethod
    def commit(self, upload: PendingUpload, key: str, id: str) -> None:
        """Let one appear that was sealed; see `FileSystem.commit`."""

    @abstractmethod
    def pending(self, root: str, prefix: str) -> Iterator[UploadStatus]:
        """Those below a prefix that have not appeared; ``root`` comes before keys in locations."""

    @abstractmethod
    def abort(self, key: str, id: str) -> None:
        """Forget one, if it is still there."""

    def is_hidden(self, key: str) -> bool:
        """Whether an object is part of an upload."""
        return False


def token_of(location: str, id: str) -> str:
    """Return the engine's name of an upload."""
    return f"{location}#{id}"


def parsed(token: str) -> tuple[str, str]:
    """The location and the id that a token is made of."""
    location, _, id = token.rpartition("#")
    return location, id
