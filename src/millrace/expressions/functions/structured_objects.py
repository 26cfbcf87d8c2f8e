"""OBJECT_OF and OBJECT_UPDATE: values of structured types (Flink docs, Value Construction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical.logical_type import (
    LogicalType,
    RowField,
    RowType,
    StructuredType,
)
from millrace.expressions.columns import CallSite, Datum, Frame, array_of, conformed, is_scalar
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
)

__all__ = ["STRUCTURED_OBJECTS"]


def _constant(context: CallContext, index: int, what: str) -> str:
    value = context.literals[index] if index < len(context.literals) else None
    if not isinstance(value, str):
        raise FunctionResolutionError(f"{context.name}: {what} is a text in quotes")
    return value


def _keys(context: CallContext, what: str) -> list[str]:
    """Names of the fields, each before its value, behind the first argument."""
    if len(context.types) % 2 == 0:
        raise FunctionResolutionError(
            f"{context.name} takes {what}, and then a name and a value for each field"
        )
    keys = [_constant(context, at, "the name of a field") for at in range(1, len(context.types), 2)]
    for key in keys:
        if keys.count(key) > 1:
            raise FunctionResolutionError(f"{context.name}: there are two values for field {key!r}")
    return keys


def _object_type(context: CallContext) -> LogicalType:
    keys = _keys(context, "the name of a class")
    fields = tuple(map(RowField, keys, context.types[2::2]))
    return StructuredType(fields, _constant(context, 0, "the name of the class"), nullable=False)


def _updated_type(context: CallContext) -> LogicalType:
    kind = context.types[0]
    assert isinstance(kind, RowType)
    keys = _keys(context, "an object")
    if not keys:
        raise FunctionResolutionError(f"{context.name} needs a field to update")
    for key in keys:
        if key not in kind.names:
            known = ", ".join(kind.names)
            raise FunctionResolutionError(
                f"{context.name}: there is no field {key!r}, only {known}"
            )
    given = dict(zip(keys, context.types[2::2], strict=True))
    fields = (replace(field, type=given.get(field.name, field.type)) for field in kind.fields)
    return replace(kind, fields=tuple(fields))


def _struct(site: CallSite, parts: Sequence[Datum], length: int, mask: Any = None) -> Any:
    columns = [
        conformed(array_of(part, length), field.type)
        for part, field in zip(parts, site.arrow, strict=True)
    ]
    if not columns:  # of which Arrow would not know how many there are
        return pa.array([{}] * length, site.arrow)
    return pa.StructArray.from_arrays(columns, fields=list(site.arrow), mask=mask)


def _object(site: CallSite, frame: Frame, *datums: Datum) -> Datum:
    parts = datums[2::2]
    constant = all(map(is_scalar, datums))
    made = _struct(site, parts, 1 if constant else frame.length)
    return made[0] if constant else made


def _update(site: CallSite, frame: Frame, value: Datum, *pairs: Datum) -> Datum:
    """Rows with some fields replaced; NULL stays NULL."""
    constant = all(map(is_scalar, (value, *pairs)))
    length = 1 if constant else frame.length
    struct = array_of(value, length)
    names = [name.as_py() if is_scalar(name) else name[0].as_py() for name in pairs[::2]]
    given = dict(zip(names, pairs[1::2], strict=True))
    parts = [
        given[field.name] if field.name in given else pc.struct_field(struct, [index])
        for index, field in enumerate(site.arrow)
    ]
    made = _struct(site, parts, length, pc.is_null(struct))
    return made[0] if constant else made


STRUCTURED_OBJECTS: tuple[FunctionDefinition, ...] = (
    FunctionDefinition(
        "OBJECT_OF",
        (("STRING", "<ANY>*"),),
        _object_type,
        _object,
        of_batch=True,
        category="Collection",
        text=(
            "An object of a structured type: a class name, and a name and a value for each field."
        ),
        examples=(("OBJECT_OF('shop.Item', 'name', 'pen', 'n', 2)", "(pen, 2)"),),
    ),
    FunctionDefinition(
        "OBJECT_UPDATE",
        (("ROW", "<ANY>*"),),
        _updated_type,
        _update,
        of_batch=True,
        category="Collection",
        text="The object with other values of some fields, each given by name and value.",
        examples=(("OBJECT_UPDATE(OBJECT_OF('C', 'a', 1, 'b', 2), 'b', 3)", "(1, 3)"),),
    ),
)
