"""Serializers: how one type of value is written into and read from a stream of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write a value."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read the next value."""
