"""Conversion of record values to MongoDB documents, and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.row import Row

__all__ = ["codec", "fields_of", "is_number_of_numpy", "require_storable"]

_PIECE = 100


@cache
def codec() -> Any:
    """Codec options of documents: decimals as Decimal128, dates as midnight UTC, times of day as
    text, rows as documents, UUIDs as BSON's own type."""
    from bson.binary import UuidRepresentation
    from bson.codec_options import CodecOptions, TypeRegistry

    return CodecOptions(
        uuid_representation=UuidRepresentation.STANDARD,
        type_registry=TypeRegistry(_decoders(), fallback_encoder=_encoded),
    )


def _decoders() -> list[Any]:
    from bson.codec_options import TypeDecoder
    from bson.decimal128 import Decimal128

    class DecimalDecoder(TypeDecoder):
        bson_type = Decimal128

        def transform_bson(self, value: Any) -> Decimal:
            return Decimal(value.to_decimal())

    return [DecimalDecoder()]


def _encoded(value: Any) -> Any:
    from bson.decimal128 import Decimal128, create_decimal128_context

    if isinstance(value, Decimal):
        context = create_decimal128_context()
        stored = context.create_decimal(value)
        if stored != value and not value.is_nan():
            raise ValueError(f"{value} has more than the {context.prec} digits that MongoDB stores")
        return Decimal128(stored)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, Row):
        return fields_of(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if is_number_of_numpy(value):
        return value.item()
    return value


def is_number_of_numpy(value: Any) -> bool:
    """Whether the value is a numpy scalar."""
    return hasattr(value, "item") and getattr(value, "shape", None) == ()


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a record, which is a dict or a row.

    Raises:
        SerializationError: it has no field names.
    """
    if type(record) is dict:
        return record
    if isinstance(record, Row):
        try:
            return record.as_dict()
        except TypeError as error:
            raise SerializationError(f"{error}: name its fields, as in Row(id=1)") from error
    if isinstance(record, dict):
        return dict(record)
    raise SerializationError(
        f"{_shown(record)} is not a document: use dicts or Rows with field names, or "
        "set_serialization_schema(function) of the sink"
    )


def require_storable(documents: Sequence[dict[str, Any]], place: object) -> None:
    """Raise an error that names the value that prevents the encoding of a bulk of documents.

    Raises:
        SerializationError: names the document and its field.
    """
    import bson

    for document in documents:
        for name, value in document.items():
            try:
                bson.encode({name: value}, codec_options=codec())
            except (bson.errors.BSONError, OverflowError, ValueError, TypeError) as error:
                raise SerializationError(
                    f"field {name!r} of the document {_shown(document.get('_id'))} cannot be "
                    f"stored in {place}: {str(error)[:200]}; map it to a text, a number of at "
                    "most 8 bytes, a time, bytes, a list or a dict with texts as keys"
                ) from error


def _shown(value: Any) -> str:
    return repr(value)[:_PIECE]
