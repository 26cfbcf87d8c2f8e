"""Serializers, which write and read one type of value in a stream of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import ClassVar, Generic, TypeVar

from millrace.common.errors import SerializationError

__all__ = ["TypeSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type (Flink docs, "Custom State Serialization").

    Attach it to a state with ``Types.SERIALIZED(serializer)``. When what it writes changes, count
    ``version`` up and let `migrate` read the earlier ones.

    Example:
        >>> class PointSerializer(TypeSerializer[complex]):
        ...     version = 2
        ...     def serialize(self, element, stream):
        ...         stream.write(f"{element.real} {element.imag}".encode())
        ...     def deserialize(self, stream):
        ...         return complex(*map(float, stream.read().split()))
        ...     def migrate(self, stream, version):
        ...         return complex(float(stream.read()), 0)  # version 1 had no second coordinate
        >>> PointSerializer().migrate(BytesIO(b"2.5"), 1)
        (2.5+0j)
    """

    version: ClassVar[int] = 1
    """Version of the format that `serialize` writes; stored with the state."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write a value."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read the next value."""

    def migrate(self, stream: BytesIO, version: int) -> T:
        """Read a value that an earlier version wrote.

        Raises:
            SerializationError: that version is not known.
        """
        raise SerializationError(
            f"{type(self).__qualname__} reads version {self.version} and has no migrate() for "
            f"values of version {version}"
        )
