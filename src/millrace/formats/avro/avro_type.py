"""Types of an Avro schema as a tree without named references (Avro specification, "Schemas")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import SerializationError

__all__ = ["PRIMITIVES", "AvroField", "AvroType", "avro_type_of"]

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_MAX_TYPES = 20_000
"""Largest number of types in a schema. References within references grow exponentially; real
schemas are much smaller."""
_MAX_DEPTH = 64
_MAX_FIXED = 1 << 20
_LOGICAL_BASES = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "decimal": ("bytes", "fixed"),
    "uuid": ("string",),
}


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType


@dataclass(frozen=True, slots=True)
class AvroType:
    """One type of an Avro schema.

    Attributes:
        kind: a primitive, or record, enum, fixed, array, map or union.
        logical: its logical type, where that fits the kind; others are ignored, as the
            specification asks for.
        nullable: whether the type was in a union with null.
        fields: fields of a record.
        element: the items of an array, the values of a map.
        branches: types of a union with several types besides null.
        symbols: symbols of an enum.
        size: bytes of a fixed.
        precision, scale: digits of a decimal, and how many of them are behind the point.
    """

    kind: str
    logical: str = ""
    nullable: bool = False
    fields: tuple[AvroField, ...] = ()
    element: AvroType | None = None
    branches: tuple[AvroType, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    precision: int = 0
    scale: int = 0


def avro_type_of(schema: Any) -> AvroType:
    """Tree of a schema in JSON form.

    Raises:
        SerializationError: the schema is not an Avro schema, contains itself, or is too large.

    Example:
        >>> avro_type_of(["null", {"type": "int", "logicalType": "date"}])
        AvroType(kind='int', logical='date', nullable=True, fields=(), element=None, branches=(), \
symbols=(), size=0, precision=0, scale=0)
    """
    return _Walk().type_of(schema, "", 0)


@dataclass(slots=True)
class _Walk:
    named: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    """Names of the records that are being expanded."""
    seen: int = 0

    def type_of(self, schema: Any, namespace: str, depth: int) -> AvroType:
        self.seen += 1
        if self.seen > _MAX_TYPES or depth > _MAX_DEPTH:
            raise SerializationError(
                f"the Avro schema has more than {_MAX_TYPES} types, or more than {_MAX_DEPTH} "
                "within each other"
            )
        if isinstance(schema, list):
            return self._union(schema, namespace, depth)
        if isinstance(schema, str):
            return self._by_name(schema, namespace, depth)
        if not isinstance(schema, Mapping) or "type" not in schema:
            raise SerializationError(f"{_shown(schema)} is not a type of an Avro schema")
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.type_of(kind, namespace, depth + 1)
        if kind in ("record", "error", "enum", "fixed"):
            return self._definition(schema, kind, namespace, depth)
        if kind == "array":
            return AvroType("array", element=self._inner(schema, "items", namespace, depth))
        if kind == "map":
            return AvroType("map", element=self._inner(schema, "values", namespace, depth))
        if kind in PRIMITIVES:
            return _with_logical(schema, AvroType(kind))
        return self._by_name(kind, namespace, depth)

    def _inner(self, schema: Mapping[str, Any], key: str, namespace: str, depth: int) -> AvroType:
        if key not in schema:
            raise SerializationError(f"{_shown(schema)} does not define its {key}")
        element = self.type_of(schema[key], namespace, depth + 1)
        if schema["type"] == "array" and takes_no_bytes(element):
            raise SerializationError(
                f"{_shown(schema)}: items that take no bytes could be any number of them"
            )
        return element

    def _union(self, branches: list[Any], namespace: str, depth: int) -> AvroType:
        branch_types = [self.type_of(branch, namespace, depth + 1) for branch in branches]
        others = [branch for branch in branch_types if branch.kind != "null"]
        nullable = len(others) < len(branch_types)
        if not branch_types or any(isinstance(branch, list) for branch in branches):
            raise SerializationError(f"{_shown(branches)} is not a union of Avro: one in another")
        if not others:
            return AvroType("null", nullable=True)
        if len(others) == 1:
            return _nullable(others[0], nullable)
        return AvroType("union", nullable=nullable, branches=tuple(others))

    def _by_name(self, name: str, namespace: str, depth: int) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = _full_name(name, namespace)
        full = full if full in self.named else name
        if full in self.open:
            raise SerializationError(
                f"the record {full} of the Avro schema contains itself; such types have no columns"
            )
        if full not in self.named:
            raise SerializationError(f"the Avro schema names {name!r}, which it does not define")
        definition = self.named[full]
        return self._named_type(definition, full, depth)

    def _definition(
        self, schema: Mapping[str, Any], kind: str, namespace: str, depth: int
    ) -> AvroType:
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            raise SerializationError(f"a {kind} of the Avro schema has no name")
        full = _full_name(name, schema.get("namespace", namespace))
        self.named[full] = schema
        return self._named_type(schema, full, depth)

    def _named_type(self, schema: Mapping[str, Any], full: str, depth: int) -> AvroType:
        kind = schema["type"]
        if kind == "enum":
            symbols = schema.get("symbols")
            if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
                raise SerializationError(f"the enum {full} has no symbols")
            return AvroType("enum", symbols=tuple(symbols))
        if kind == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or not 0 <= size <= _MAX_FIXED:
                raise SerializationError(f"the fixed {full} has no size up to {_MAX_FIXED}")
            return _with_logical(schema, AvroType("fixed", size=size))
        self.open.append(full)
        fields = tuple(self._fields(schema, full, depth))
        self.open.pop()
        return AvroType("record", fields=fields)

    def _fields(self, schema: Mapping[str, Any], full: str, depth: int) -> list[AvroField]:
        fields, namespace = [], full.rpartition(".")[0]
        declared = schema.get("fields")
        if not isinstance(declared, list):
            raise SerializationError(f"the record {full} has no fields")
        for item in declared:
            if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
                raise SerializationError(f"a field of the record {full} has no name")
            if "type" not in item:
                raise SerializationError(f"the field {item['name']} of {full} has no type")
            fields.append(AvroField(item["name"], self.type_of(item["type"], namespace, depth + 1)))
        names = [entry.name for entry in fields]
        if len(set(names)) < len(names):
            raise SerializationError(f"the record {full} has two fields of the same name")
        return fields


def takes_no_bytes(kind: AvroType) -> bool:
    """Whether values of the type are encoded in zero bytes."""
    if kind.nullable:
        return kind.kind == "null"
    if kind.kind == "record":
        return all(takes_no_bytes(entry.type) for entry in kind.fields)
    return kind.kind == "null" or (kind.kind == "fixed" and kind.size == 0)


def _nullable(kind: AvroType, nullable: bool) -> AvroType:
    parts = (kind.fields, kind.element, kind.branches, kind.symbols, kind.size)
    return AvroType(kind.kind, kind.logical, nullable, *parts, kind.precision, kind.scale)


def _with_logical(schema: Mapping[str, Any], kind: AvroType) -> AvroType:
    logical = schema.get("logicalType")
    if not isinstance(logical, str) or kind.kind not in _LOGICAL_BASES.get(logical, ()):
        return kind
    if logical != "decimal":
        return AvroType(kind.kind, logical, size=kind.size)
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return kind
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        return kind
    return AvroType(kind.kind, logical, size=kind.size, precision=precision, scale=scale)


def _full_name(name: str, namespace: Any) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _shown(schema: Any) -> str:
    return repr(schema)[:200]
