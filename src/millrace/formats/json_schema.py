"""Row type of a JSON Schema (as in Flink's ``JsonRowSchemaConverter``)."""

from __future__ import annotations

import json
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.typeinfo import TypeInformation, Types

__all__ = ["type_of_json_schema"]

_FORMATS: dict[str | None, Any] = {
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
    "date-time": Types.SQL_TIMESTAMP,
}
_SCALARS: dict[str | None, Any] = {
    "boolean": Types.BOOLEAN,
    "integer": Types.BIG_INT,
    "number": Types.BIG_DEC,
}


def type_of_json_schema(text: str) -> RowTypeInfo:
    """Row type of a JSON Schema for an object.

    Objects become rows, arrays lists (or rows, if each position has a schema of its own), numbers
    decimals; ``$ref`` within the schema is followed, ``null`` beside another type left out.

    Raises:
        JobDefinitionError: the text is not JSON, describes no object, or uses an unsupported type.

    Example:
        >>> schema = '{"type": "object", "properties": {"n": {"type": "integer"}}}'
        >>> type_of_json_schema(schema).get_field_names()
        ['n']
    """
    try:
        root = json.loads(text)
    except (TypeError, ValueError) as error:
        raise JobDefinitionError(f"the JSON Schema is not JSON: {error}") from None
    row_type = _type_of(root, root, ())
    if not isinstance(row_type, RowTypeInfo):
        raise JobDefinitionError(f"a JSON Schema of rows describes an object, not {text[:200]}")
    return row_type


def _type_of(node: Any, root: Any, path: tuple[str, ...]) -> TypeInformation[Any]:
    node = _followed(node, root, path)
    kinds = node.get("type")
    named = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    if len(named) != 1 or named[0] is None:
        raise _refused(path, f"'type' is {json.dumps(kinds)}; give it one type, and perhaps null")
    (kind,) = named
    if kind == "object":
        members = node.get("properties", {}).items()
        types = [_type_of(member, root, (*path, name)) for name, member in members]
        return Types.ROW_NAMED([name for name, _ in members], types)
    if kind == "array":
        return _type_of_array(node, root, path)
    if kind == "string":
        if node.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _FORMATS.get(node.get("format"), Types.STRING)()  # type: ignore[no-any-return]
    if kind not in _SCALARS:
        raise _refused(path, f"type {kind!r} is not known")
    return _SCALARS[kind]()  # type: ignore[no-any-return]


def _type_of_array(node: dict[str, Any], root: Any, path: tuple[str, ...]) -> TypeInformation[Any]:
    items = node.get("items")
    if isinstance(items, list):
        return Types.ROW([_type_of(i, root, (*path, str(n))) for n, i in enumerate(items)])
    return Types.OBJECT_ARRAY(_type_of(items, root, (*path, "items")))


def _followed(node: Any, root: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """The node itself, or the node that its reference names."""
    seen = set()
    while isinstance(node, dict) and "$ref" in node:
        reference = node["$ref"]
        if not str(reference).startswith("#") or reference in seen:
            raise _refused(path, f"the reference {reference!r} leads nowhere in the schema")
        seen.add(reference)
        node = root
        for step in filter(None, reference[1:].split("/")):
            node = node.get(step) if isinstance(node, dict) else None
    if not isinstance(node, dict) or len(path) > 100:
        raise _refused(path, "there is no schema")
    return node


def _refused(path: tuple[str, ...], why: str) -> JobDefinitionError:
    return JobDefinitionError(
        f"the JSON Schema has no type at {'/'.join(path) or 'its root'}: {why}"
    )
