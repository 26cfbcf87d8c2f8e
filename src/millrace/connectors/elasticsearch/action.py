"""One change of one document, as an entry of a bulk request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from millrace.common.errors import SerializationError
from millrace.common.types.row import Row

__all__ = ["ElasticsearchAction", "PreparedAction"]


@dataclass(frozen=True, slots=True)
class ElasticsearchAction:
    """An operation on a document, which an `ElasticsearchEmitter` makes from a record.

    Example:
        >>> ElasticsearchAction.index("users", {"name": "ada"}, "1").operation
        'index'
    """

    operation: str
    index_name: str
    document_id: str | None
    document: Any
    document_type: str | None = None
    """Type of the document, for Elasticsearch 6 only; None for ``_doc``."""

    @staticmethod
    def index(
        index: str, document: Mapping[str, Any] | Row, document_id: str | None = None
    ) -> ElasticsearchAction:
        """Add the document, or replace the document with this id. Without an id the cluster
        generates one, and a repeated action adds a second document."""
        return ElasticsearchAction("index", index, document_id, document)

    @staticmethod
    def update(
        index: str, document: Mapping[str, Any] | Row, document_id: str
    ) -> ElasticsearchAction:
        """Change the given fields of a document, and keep its other fields. Add the document if it
        does not exist."""
        return ElasticsearchAction("update", index, document_id, document)

    @staticmethod
    def delete(index: str, document_id: str) -> ElasticsearchAction:
        """Delete the document if it exists."""
        return ElasticsearchAction("delete", index, document_id, None)


class PreparedAction(NamedTuple):
    """An action as serialized bytes."""

    operation: str
    index_name: str
    document_id: str | None
    header: bytes
    document: bytes | None

    @staticmethod
    def of(action: ElasticsearchAction, with_type: bool = False) -> PreparedAction:
        """Serialize an action as JSON.

        Args:
            with_type: whether it names the type of the document.

        Raises:
            SerializationError: the document has a value that JSON has not.
        """
        operation, index, document_id = action.operation, action.index_name, action.document_id
        document = action.document
        place = {"_index": index} if document_id is None else {"_index": index, "_id": document_id}
        if with_type:
            place["_type"] = action.document_type or _TYPE
        header = _ENCODE({operation: place})
        if operation == "delete":
            return PreparedAction(operation, index, document_id, header, None)
        if operation == "update":
            document = {"doc": document, "doc_as_upsert": True}
        return PreparedAction(operation, index, document_id, header, _json(document))

    @property
    def size(self) -> int:
        """Size of the action in a request, in bytes, including line feeds."""
        return len(self.header) + len(self.document or b"") + 2


def _json(document: Any) -> bytes:
    try:
        data = _ENCODE(document)
        if any(map(data.__contains__, _SIGNS_OF_NONE)):
            parts = msgspec.to_builtins(document, builtin_types=(Decimal,), enc_hook=_plain)
            _require_numbers(parts, "")
        return data
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise SerializationError(
            f"{document!r} cannot be a document: {error}; emit a dict, or a Row with field names, "
            "of texts, numbers, booleans, times, bytes, lists and dicts"
        ) from error


def _require_numbers(value: Any, place: str) -> None:
    """Refuse numbers that JSON cannot express: the library writes null for them, or invalid
    JSON."""
    if isinstance(value, dict):
        for name, item in value.items():
            _require_numbers(item, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list):
        for item in value:
            _require_numbers(item, place)
    elif isinstance(value, (float, Decimal)) and not isfinite(value):
        raise ValueError(f"field '{place}' is {value}, for which JSON has no number: write None")


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


_TYPE = "_doc"
"""Type of documents whose emitter names none."""
_SIGNS_OF_NONE = (b"null", b"NaN", b"Inf")
"""One of them is in a document that has no number where it should."""
_ENCODE = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number").encode
