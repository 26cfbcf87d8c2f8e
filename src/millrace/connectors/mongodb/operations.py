"""Operations of a MongoDB sink: upserts and deletes by key, or the results of a function."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millrace.common.errors import SerializationError
from millrace.connectors.mongodb.documents import codec, fields_of, is_number_of_numpy
from millrace.connectors.row_changes import ReplacedRows

__all__ = ["FunctionOperations", "KeyedOperations", "Operations"]

_ID = "_id"
_PLAIN = frozenset({str, int, bytes})
_NAN = (float, "nan")
"""The token of keys that are not a number, which are equal to MongoDB."""


class Operations(ABC):
    """Makes operations from records."""

    ordered: bool
    """Whether they must be carried out one after the other."""

    @abstractmethod
    def of(self, values: Sequence[Any], replaced: ReplacedRows) -> Iterator[tuple[Any, Any]]:
        """Pairs of a token and an operation. An operation replaces earlier operations with an equal
        token; if the token is None, it replaces none.

        Args:
            replaced: rows of the epoch that an update has replaced.

        Raises:
            SerializationError: a record is no document, or has no key.
        """

    def last(self, replaced: ReplacedRows) -> Iterator[tuple[Any, Any]]:
        """Pairs of a token and an operation, as `of` returns them, for the end of an epoch."""
        yield from ()


@dataclass(frozen=True)
class KeyedOperations(Operations):
    """Makes a record replace or delete the document with its key. Without key fields, the key is
    the record's ``_id``, and a record without ``_id`` becomes a new document.
    """

    key: tuple[str, ...] = ()
    ordered = False

    def of(self, values: Sequence[Any], replaced: ReplacedRows) -> Iterator[tuple[Any, Any]]:
        for written, value in replaced.changes(values, self._token_of):
            yield self._operation(value, written)

    def last(self, replaced: ReplacedRows) -> Iterator[tuple[Any, Any]]:
        for value in replaced.take():
            yield self._operation(value, False)

    def _operation(self, value: Any, written: bool) -> tuple[Any, Any]:
        from bson.objectid import ObjectId
        from pymongo import DeleteOne, ReplaceOne

        document = fields_of(value)
        is_new = written and not self.key and _ID not in document
        key = ObjectId() if is_new else self._key_of(document)
        if not written:
            return _token(key), DeleteOne(_of(key))
        if _ID not in document or self.key:
            document = {**document, _ID: key}
        return _token(key), ReplaceOne(_of(key), document, upsert=True)

    def _token_of(self, value: Any) -> Any:
        return _token(self._key_of(fields_of(value)))

    def _key_of(self, document: dict[str, Any]) -> Any:
        fields = self.key or (_ID,)
        try:
            if len(fields) > 1:
                return {name: document[name] for name in fields}
            key = document[fields[0]]
        except KeyError as error:
            raise _keyless(document, error.args[0]) from None
        if key is None:
            raise _keyless(document, fields[0])
        return key


@dataclass(frozen=True)
class FunctionOperations(Operations):
    """Calls a function, which returns for each record a pymongo operation, a list of them, or
    None."""

    function: Callable[[Any], Any]
    ordered = True

    def of(self, values: Sequence[Any], replaced: ReplacedRows) -> Iterator[tuple[Any, Any]]:
        for value in values:
            made = self.function(value)
            for operation in made if isinstance(made, (list, tuple)) else (made,):
                if operation is not None:
                    if not hasattr(operation, "_add_to_bulk"):
                        raise SerializationError(
                            "the function of set_serialization_schema() returns operations of "
                            "pymongo such as UpdateOne(filter, update), lists of them or None, "
                            f"not a {type(operation).__name__}"
                        )
                    yield None, operation


def _of(key: Any) -> dict[str, Any]:
    """Filter of the document with this key. A key such as ``{"$gte": ""}`` is a value to compare
    with, not a condition."""
    return {_ID: {"$eq": key}}


def _token(key: Any) -> Any:
    """A value that is equal for keys that MongoDB treats as equal: 1, 1.0 and Decimal(1), but
    not 1 and True; this applies within documents, too."""
    if type(key) in _PLAIN:
        return key
    if isinstance(key, dict):
        return dict, tuple((name, _token(value)) for name, value in key.items())
    if isinstance(key, (list, tuple)):
        return list, tuple(map(_token, key))
    if is_number_of_numpy(key):
        key = key.item()
    if type(key) in (int, float, Decimal):
        return _NAN if math.isnan(key) else key
    import bson

    try:
        return bson.encode({_ID: key}, codec_options=codec())
    except (bson.errors.BSONError, OverflowError, TypeError, ValueError) as error:
        raise SerializationError(f"{key!r} cannot be the key of a document: {error}") from error


def _keyless(document: dict[str, Any], field: str) -> SerializationError:
    return SerializationError(
        f"a record with the fields {', '.join(map(str, document))} has no value in {field!r}, "
        "which is its key; see set_key()"
    )
