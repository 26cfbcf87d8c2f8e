"""Record names of two schemas, for reading records of one schema as the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.avro.avro_type import PRIMITIVES

__all__ = ["with_names_of"]


def with_names_of(reader: AvroSchema, writer: AvroSchema) -> AvroSchema:
    """The reader's schema with aliases: the names that the writer's schema has at the same places.
    As in Flink, the name of a record does not matter for its fields.

    Example:
        >>> text = '{"type": "record", "name": "%s", "fields": [{"name": "n", "type": "int"}]}'
        >>> mine, theirs = (AvroSchema.parse_string(text % name) for name in ("a", "org.b"))
        >>> with_names_of(mine, theirs).definition["aliases"]
        ['org.b']
    """
    names: dict[str, Any] = {}
    _collect(writer.definition, "", names)
    return AvroSchema(_aliased(reader.definition, writer.definition, "", names))


def _aliased(reader: Any, writer: Any, namespace: str, names: dict[str, Any]) -> Any:
    if isinstance(writer, str) and writer not in PRIMITIVES:
        full = _full(writer, namespace)
        known_name = full if full in names else writer
        if known_name not in names:
            return reader
        writer, namespace = names[known_name], known_name.rpartition(".")[0]
    if isinstance(reader, list) or isinstance(writer, list):
        return _branches(reader, writer, namespace, names)
    if not isinstance(reader, dict) or not isinstance(writer, dict):
        return reader
    if isinstance(writer["type"], dict | list) or isinstance(reader["type"], dict | list):
        return reader
    if reader["type"] == writer["type"] == "record":
        return _record(reader, writer, namespace, names)
    for key in ("items", "values"):
        if key in reader and key in writer:
            return {**reader, key: _aliased(reader[key], writer[key], namespace, names)}
    return reader


def _branches(reader: Any, writer: Any, namespace: str, names: dict[str, Any]) -> Any:
    """The reader's schema with aliases from the writer's only branch that is not null, for
    nullable columns; unchanged if the writer has several such branches."""
    theirs = [branch for branch in _listed(writer) if branch != "null"]
    if len(theirs) != 1:
        return reader
    if not isinstance(reader, list):
        return _aliased(reader, theirs[0], namespace, names)
    return [_aliased(branch, theirs[0], namespace, names) for branch in reader]


def _listed(schema: Any) -> list[Any]:
    return schema if isinstance(schema, list) else [schema]


def _record(
    reader: dict[str, Any], writer: dict[str, Any], namespace: str, names: dict[str, Any]
) -> dict[str, Any]:
    full = _full(writer["name"], writer.get("namespace", namespace))
    inner = full.rpartition(".")[0]
    theirs = {field["name"]: field["type"] for field in writer["fields"]}
    fields = [
        {**field, "type": _aliased(field["type"], theirs[field["name"]], inner, names)}
        if field["name"] in theirs
        else field
        for field in reader["fields"]
    ]
    return {**reader, "aliases": [*reader.get("aliases", []), full], "fields": fields}


def _collect(schema: Any, namespace: str, names: dict[str, Any]) -> None:
    """Collect the definitions of all names in a schema."""
    for inner in _listed(schema):
        if not isinstance(inner, dict):
            continue
        within = namespace
        if isinstance(inner.get("name"), str):
            full = _full(inner["name"], inner.get("namespace", namespace))
            names[full], within = inner, full.rpartition(".")[0]
        for part in _parts(inner):
            _collect(part, within, names)


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    yield from (schema[key] for key in ("type", "items", "values") if key in schema)
    if schema.get("type") == "record":
        yield from (field["type"] for field in schema["fields"])


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
