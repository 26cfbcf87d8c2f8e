"""Conversion of records to actions on documents. Flink docs: "Elasticsearch", Emitter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.row import Row, RowKind
from millrace.connectors.elasticsearch.action import ElasticsearchAction
from millrace.connectors.row_changes import ReplacedRows

__all__ = ["ElasticsearchEmitter"]


class ElasticsearchEmitter(ABC):
    """Makes actions from records.

    `static_index` and `dynamic_index` take records that are dicts or rows with field names; `of`
    takes a function for anything else. A row of kind DELETE deletes its document, and so does one
    of kind UPDATE_BEFORE, unless a row with its id follows in the epoch, which replaces it.

    Example:
        >>> emitter = ElasticsearchEmitter.static_index("users", "id")
        >>> [action] = emitter.emit_batch([Row(id=7, name="ada")])
        >>> action.operation, action.index_name, action.document_id
        ('index', 'users', '7')
        >>> [action] = emitter.emit_batch([Row.of_kind(RowKind.DELETE, id=7, name="ada")])
        >>> action.operation
        'delete'
    """

    @abstractmethod
    def emit_batch(self, values: list[Any]) -> list[ElasticsearchAction]:
        """Actions of a batch, in its order.

        Raises:
            SerializationError: a record lacks the field of its id or index, or is no document.
        """

    def emit_changes(
        self, values: list[Any], replaced: ReplacedRows
    ) -> Iterable[ElasticsearchAction]:
        """Actions for a batch of changes, in its order. By default, the actions of `emit_batch`.

        Args:
            replaced: rows of the epoch that an update has replaced.
        """
        return self.emit_batch(values)

    def emit_last(self, replaced: ReplacedRows) -> Iterable[ElasticsearchAction]:
        """Actions to send at the end of an epoch; by default none."""
        return ()

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Emitter that writes all documents to one index.

        Args:
            index: its name.
            key_field: the field that is the id; without one the cluster makes ids, and records
                that are written again after a failure are there twice.
            doc_type: the type of the documents, for `Elasticsearch6SinkBuilder` only: there are
                none since Elasticsearch 7.

        Raises:
            JobDefinitionError: a name is not a text, or empty.
        """
        return _FieldEmitter(_name(index, "index"), None, key_field, doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Emitter that reads the index of each document from a field; the other arguments are as in
        `static_index`."""
        field = _name(index_field, "index_field")
        return _FieldEmitter("", field, key_field, doc_type)

    @staticmethod
    def of(function: Callable[[Any], Iterable[ElasticsearchAction]]) -> ElasticsearchEmitter:
        """Emitter that calls a function, which makes any number of actions from each record.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(function):
            raise JobDefinitionError(
                f"ElasticsearchEmitter.of() takes a function, not {function!r}"
            )
        return _FunctionEmitter(function)


class _FunctionEmitter(ElasticsearchEmitter):
    def __init__(self, function: Callable[[Any], Iterable[ElasticsearchAction]]) -> None:
        self._function = function

    def emit_batch(self, values: list[Any]) -> list[ElasticsearchAction]:
        return [action for value in values for action in self._function(value)]


class _FieldEmitter(ElasticsearchEmitter):
    """Emitter that reads index and id from fields."""

    def __init__(
        self, index: str, index_field: str | None, key_field: str | None, doc_type: str | None
    ) -> None:
        self._index = index
        self._index_field = index_field
        self._key_field = _optional(key_field, "key_field")
        self._type = _optional(doc_type, "doc_type")

    def emit_batch(self, values: list[Any]) -> list[ElasticsearchAction]:
        replaced = ReplacedRows()
        return [*self.emit_changes(values, replaced), *self.emit_last(replaced)]

    def emit_changes(
        self, values: list[Any], replaced: ReplacedRows
    ) -> Iterable[ElasticsearchAction]:
        for written, value in replaced.changes(values, self._place_of):
            yield self._action(value, written)

    def emit_last(self, replaced: ReplacedRows) -> Iterable[ElasticsearchAction]:
        for value in replaced.take():
            yield self._action(value, False)

    def _action(self, value: Any, written: bool) -> ElasticsearchAction:
        index, key, document = self._parts(value)
        if written:
            return ElasticsearchAction("index", index, key, document, self._type)
        return ElasticsearchAction("delete", index, key, None, self._type)

    def _place_of(self, value: Any) -> tuple[str, str | None]:
        return self._parts(value)[:2]

    def _parts(self, value: Any) -> tuple[str, str | None, dict[str, Any]]:
        """Index, id and document of a record."""
        kind = RowKind.INSERT
        document = value
        if isinstance(value, Row):
            kind = value.get_row_kind()
            document = self._fields_of(value)
        elif not isinstance(value, dict):
            raise SerializationError(
                f"{value!r} is not a document: use dicts or Rows with field names, or an "
                "emitter made with ElasticsearchEmitter.of(function)"
            )
        key, index = None, self._index
        if self._key_field is not None:
            key = str(self._field(document, self._key_field))
        elif kind is not RowKind.INSERT:
            raise SerializationError(
                f"{value!r} changes a document, but the emitter has no key_field by which "
                "the document is found"
            )
        if self._index_field is not None:
            index = str(self._field(document, self._index_field))
        return index, key, document

    @staticmethod
    def _fields_of(row: Row) -> dict[str, Any]:
        try:
            return row.as_dict()
        except TypeError as error:
            raise SerializationError(f"{error}: name its fields, as in Row(id=1)") from error

    @staticmethod
    def _field(document: dict[str, Any], name: str) -> Any:
        value = document.get(name)
        if value is None:
            raise SerializationError(
                f"{document!r} has no value in field '{name}', which is its id or index"
            )
        return value


def _name(value: Any, argument: str) -> str:
    if not isinstance(value, str) or not value:
        raise JobDefinitionError(f"{argument} is a name, not {value!r}")
    return value


def _optional(value: Any, argument: str) -> str | None:
    return None if value is None else _name(value, argument)
