"""A type whose values a serializer of the program writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from millrace.common.types.logical.logical_type import LogicalType, RawType
from millrace.common.types.serializer import TypeSerializer
from millrace.common.types.type_information import TypeInformation

__all__ = ["SerializedTypeInfo"]


@dataclass(frozen=True, slots=True, repr=False)
class SerializedTypeInfo(TypeInformation[Any]):
    """The type of values that a `TypeSerializer` writes; their internal form is the serializer's
    bytes.
    """

    label: str
    """The serializer's name: two types of the same name and version are the same."""
    version: int
    serializer: TypeSerializer[Any] = field(compare=False)

    @property
    def name(self) -> str:
        return f"SERIALIZED({self.label}, version {self.version})"

    @property
    def is_immutable(self) -> bool:
        return False

    @property
    def bridged_type(self) -> LogicalType:
        return RawType(self.label, f"version {self.version}")

    def encode(self, value: Any) -> bytes:
        """The value as the serializer's bytes."""
        stream = BytesIO()
        self.serializer.serialize(value, stream)
        return stream.getvalue()

    def decode(self, internal: bytes) -> Any:
        """The value that the serializer wrote."""
        return self.serializer.deserialize(BytesIO(internal))

    def migrated(self, obj: bytes | None, version: int) -> Any:
        """The internal form of a value that an earlier version wrote."""
        if obj is None:
            return None
        return self.encode(self.serializer.migrate(BytesIO(obj), version))
