"""Avro schemas: parsed, checked, and in the form used for reading and writing records."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.formats.avro.avro_type import AvroType, avro_type_of
from millrace.formats.avro.library import fastavro

__all__ = ["AvroSchema", "require_avro_schema"]


class AvroSchema:
    """A schema; made by `parse_string` or `parse_file`. PyFlink: ``AvroSchema``.

    Example:
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Word", "fields": [{"name": "text", "type": "string"}]}'
        ... )
        >>> schema.type.fields[0].name
        'text'

    Raises:
        SerializationError: the definition is not an Avro schema.
    """

    def __init__(self, schema: Any) -> None:
        self.definition = schema
        """The schema as parsed JSON."""
        self.type: AvroType = avro_type_of(schema)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Schema from a JSON text.

        Raises:
            JobDefinitionError: the text is not JSON, or not an Avro schema.
        """
        try:
            definition = json.loads(json_schema)
            schema = AvroSchema(definition)
            _ = schema.physical
        except (ValueError, TypeError, RecursionError, SerializationError) as error:
            raise JobDefinitionError(f"the text is not an Avro schema: {error}") from None
        return schema

    @staticmethod
    def parse_file(file_path: str | os.PathLike[str]) -> AvroSchema:
        """Schema from a local file (``.avsc``).

        Raises:
            JobDefinitionError: the file cannot be read, or has no Avro schema in it.
        """
        try:
            text = Path(file_path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise JobDefinitionError(f"no Avro schema in {file_path}: {error}") from None
        return AvroSchema.parse_string(text)

    @cached_property
    def physical(self) -> Any:
        """The schema without logical types, because fastavro would convert their values one by one.
        Whole columns are converted instead.

        Raises:
            SerializationError: fastavro refuses the schema.
        """
        try:
            parsed = fastavro().parse_schema(without_logical_types(self.definition))
            set_defaults_of_bytes(parsed)
        except Exception as error:  # whatever it raises for a schema of others
            raise SerializationError(f"the text is not an Avro schema: {error}") from None
        return parsed

    @property
    def name(self) -> str:
        """Full name of a record, enum or fixed; for other schemas, their type."""
        definition = self.definition
        if not isinstance(definition, Mapping) or "name" not in definition:
            return self.type.kind
        name, namespace = definition["name"], definition.get("namespace")
        return f"{namespace}.{name}" if namespace and "." not in name else str(name)

    def to_json(self) -> str:
        """JSON text of the schema, without whitespace."""
        return json.dumps(self.definition, separators=(",", ":"))

    def __str__(self) -> str:
        return self.to_json()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self.definition == other.definition

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self.definition,)


def require_avro_schema(schema: Any, method: str) -> AvroSchema:
    """The schema, if it is the schema of a record.

    Raises:
        JobDefinitionError: the object is not the schema of a record.
    """
    if isinstance(schema, str):
        schema = AvroSchema.parse_string(schema)
    if not isinstance(schema, AvroSchema):
        raise JobDefinitionError(
            f"{method} takes AvroSchema.parse_string(text) or parse_file(path), not {schema!r}"
        )
    if schema.type.kind != "record":
        raise JobDefinitionError(
            f"{method} takes the schema of a record, not of {schema.type.kind}: rows are records"
        )
    return schema


def without_logical_types(schema: Any) -> Any:
    """The schema with only its underlying types, in which its values are encoded."""
    if isinstance(schema, list):
        return [without_logical_types(branch) for branch in schema]
    if not isinstance(schema, Mapping):
        return schema
    plain = {key: value for key, value in schema.items() if key != "logicalType"}
    for key in ("type", "items", "values"):
        if key in plain:
            plain[key] = without_logical_types(plain[key])
    if "fields" in plain:
        plain["fields"] = [without_logical_types(entry) for entry in plain["fields"]]
    return plain


def set_defaults_of_bytes(schema: Any) -> None:
    """Convert the defaults of bytes fields in a parsed schema to bytes. In JSON they are texts
    of code points, which fastavro would return unchanged."""
    if isinstance(schema, list):
        for branch in schema:
            set_defaults_of_bytes(branch)
    if not isinstance(schema, dict):
        return
    for key in ("type", "items", "values"):
        set_defaults_of_bytes(schema.get(key))
    for field in schema.get("fields", ()):
        set_defaults_of_bytes(field.get("type"))
        default, kind = field.get("default"), field.get("type")
        first = kind[0] if isinstance(kind, list) and kind else kind
        name = first.get("type") if isinstance(first, dict) else first
        if isinstance(default, str) and name in ("bytes", "fixed"):
            field["default"] = default.encode("latin-1")
