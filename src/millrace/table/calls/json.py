"""JSON functions of texts, with paths of SQL/JSON."""

from __future__ import annotations

from enum import Enum
from typing import Any, Self

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType, VarCharType
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import CallBuilder, node_of
from millrace.table.data_types import declared_type

__all__ = [
    "JsonExistsOnError",
    "JsonFunctions",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
]


class JsonType(Enum):
    """Kinds of JSON for `Expression.is_json`."""

    VALUE = 0
    SCALAR = 1
    ARRAY = 2
    OBJECT = 3


class JsonExistsOnError(Enum):
    """Result of ``json_exists`` for an error."""

    TRUE = 0
    FALSE = 1
    UNKNOWN = 2
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """Result of ``json_value`` where there is no value, or an error."""

    NULL = 0
    ERROR = 1
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """Whether ``json_query`` wraps its result into an array."""

    WITHOUT_ARRAY = 0
    CONDITIONAL_ARRAY = 1
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """Result of ``json_query`` where there is no value, or an error."""

    NULL = 0
    ERROR = 1
    EMPTY_ARRAY = 2
    EMPTY_OBJECT = 3


class JsonOnNull(Enum):
    """Treatment of NULL in a JSON object or array: written as null, or left out."""

    NULL = 0
    ABSENT = 1


def behavior(on: str, what: Any, value: Any = None) -> exp.Expr:
    """A clause of a call of a JSON function."""
    parts = {} if value is None else {"expression": node_of(value)}
    return nodes.JsonBehavior(this=what, on=on, **parts)


class JsonFunctions(CallBuilder):
    """Functions that read or write JSON texts."""

    __slots__ = ()

    def _json(self, name: str, path: str, *clauses: exp.Expr) -> Self:
        made = self._call(name, path)
        made.node.set("expressions", [*made.node.expressions, *clauses])
        return made

    def is_json(self, json_type: JsonType | None = None) -> Self:
        """Whether the text is JSON, optionally of a kind."""
        kind = (json_type or JsonType.VALUE).name
        return self._made(nodes.IsJson(this=self.node, kind=kind))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Self:
        """Whether a path has a value."""
        clauses = [] if on_error is None else [behavior("ERROR", on_error.name)]
        return self._json("JSON_EXISTS", path, *clauses)

    def json_value(
        self,
        path: str,
        returning_type: LogicalType | str | None = None,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Self:
        """The number, text or boolean at the given path, by default as a STRING."""
        kind = VarCharType() if returning_type is None else declared_type(returning_type)
        return self._json(
            "JSON_VALUE",
            path,
            behavior("RETURNING", nodes.TypeName(this=kind)),
            behavior("EMPTY", on_empty.name, default_on_empty),
            behavior("ERROR", on_error.name, default_on_error),
        )

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Self:
        """The object or array at the given path, as JSON."""
        return self._json(
            "JSON_QUERY",
            path,
            behavior("WRAPPER", wrapping_behavior.name.removesuffix("_ARRAY")),
            behavior("EMPTY", on_empty.name.replace("_", " ")),
            behavior("ERROR", on_error.name.replace("_", " ")),
        )

    def json_quote(self) -> Self:
        """The text as a JSON string."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Self:
        """The text of a JSON string."""
        return self._call("JSON_UNQUOTE")
