"""Type information of records with an Avro schema."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types.type_information import PickledBytesTypeInfo
from millrace.formats.avro.avro_schema import AvroSchema

__all__ = ["GenericRecordAvroTypeInfo"]


@dataclass(frozen=True, slots=True, repr=False)
class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """Records of a schema as dicts. PyFlink needs this type to write them; here it only describes
    the records.

    Attributes:
        schema: theirs.
    """

    avro_schema: AvroSchema

    def __repr__(self) -> str:
        return f"GenericRecordAvroTypeInfo({self.avro_schema.name})"
