"""Construction of, access to and functions of rows, arrays and maps (Flink docs, Collection)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowField
from millrace.expressions.call_options import FieldPosition, option
from millrace.expressions.columns import (
    CallSite,
    Datum,
    Frame,
    array_of,
    conformed,
    is_scalar,
    per_value,
)
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
    ResultStrategy,
    Signature,
)
from millrace.expressions.functions import lists
from millrace.expressions.functions.lists import looked_up
from millrace.expressions.parameters import CHARACTERS
from millrace.expressions.result_types import always, argument, fixed, merged_arguments
from millrace.expressions.type_merging import common_type

_ORDERED = (
    *(logical.NumericType, *CHARACTERS, logical.BinaryType, logical.VarBinaryType),
    *(logical.DateType, logical.TimeType, logical.TimestampType, logical.NullType),
    *(logical.LocalZonedTimestampType, logical.ZonedTimestampType),
)


def ordered_elements(context: CallContext) -> Types:
    """Strategy that accepts only arrays whose elements have an order, as in Flink."""
    element = context.types[0].children()[0]
    if not isinstance(element, _ORDERED):
        raise FunctionResolutionError(
            f"{context.name} takes elements that have an order: numbers, texts, bytes and times; "
            f"{element} has none"
        )
    return context.types


def of_texts(context: CallContext) -> Types | None:
    """The parameter types if the argument is an array of texts, else None."""
    element = context.types[0].children()[0]
    return context.types if isinstance(element, (*CHARACTERS, logical.NullType)) else None


def with_element() -> Callable[[CallContext], Types | None]:
    """Strategy that casts the elements of an array, and the arguments after the array, to their
    common type.
    """

    def adjust(context: CallContext) -> Types | None:
        array, *others = context.types
        kind = common_type((array.children()[0], *others))
        if kind is None:
            return None
        made = logical.ArrayType(kind, nullable=array.is_nullable)
        return (made, *(kind.with_nullable(other.is_nullable) for other in others))

    return adjust


def needle(context: CallContext) -> Types | None:
    """Types of an array and of the value to search for in it, both based on their common type."""
    array, sought = context.types
    kind = common_type((array.children()[0].with_nullable(True), sought))
    if kind is None:
        return None
    inner = kind.with_nullable(array.children()[0].is_nullable)
    made = logical.ArrayType(inner, nullable=array.is_nullable)
    return made, kind.with_nullable(sought.is_nullable)


__all__ = ["COLLECTIONS", "TYPES", "needle", "of_texts", "ordered_elements", "with_element"]


def item_type(context: CallContext) -> LogicalType:
    """Type of an element, a value or a field; always nullable."""
    kind = context.types[0]
    if isinstance(kind, logical.RowType):
        return _field(kind, context).type.with_nullable(True)
    place = context.literals[1] if context.name == "ITEM" else None
    if isinstance(kind, logical.ArrayType) and isinstance(place, int) and place < 1:
        raise FunctionResolutionError(
            f"positions in an array begin with 1; {place} is not a position: write "
            "x[CARDINALITY(x)] for the last one"
        )
    if isinstance(kind, logical.MapType) and not common_type((kind.key_type, context.types[1])):
        raise FunctionResolutionError(f"{context.types[1]} is not a key of {kind}")
    return kind.children()[-1].with_nullable(True)


def _field(kind: logical.RowType, context: CallContext) -> RowField:
    position = _position(kind, context.literals[1] if len(context.literals) > 1 else None)
    if position is None:
        raise FunctionResolutionError(
            f"a field of {kind} must be selected by a constant: its name, or a number from 1 to "
            f"{len(kind)}"
        )
    return kind.fields[position]


def _position(kind: logical.RowType, key: Any) -> int | None:
    """Position of the field with a name, or with a number from 1; None if there is no such
    field."""
    if isinstance(key, str):
        return kind.names.index(key) if key in kind.names else None
    return key - 1 if isinstance(key, int) and 1 <= key <= len(kind) else None


def item(site: CallSite, value: Datum, key: Datum) -> Datum:
    """The item ``value[key]``; NULL if there is none."""
    kind = site.argument_types[0]
    if isinstance(kind, logical.RowType):
        return pc.struct_field(value, _position(kind, key.as_py()))
    if isinstance(kind, logical.MapType):
        return per_value(looked_up, site.arrow, value, key)
    return per_value(
        lambda items, at: items[at - 1] if 1 <= at <= len(items) else None, site.arrow, value, key
    )


def get_type(context: CallContext) -> LogicalType:
    """The type of a row's field."""
    kind, field = context.types[0], option(FieldPosition, context.options)
    assert field is not None
    assert isinstance(kind, logical.RowType)
    part: LogicalType = kind.fields[field.index].type
    return part.with_nullable(part.is_nullable or kind.is_nullable)


def get(site: CallSite, value: Datum) -> Datum:
    """Field of a row."""
    field = option(FieldPosition, site.options)
    assert field is not None
    return pc.struct_field(value, field.index)


CATEGORY = "Collection"
ARRAY: Signature = ("ARRAY",)
Types = tuple[LogicalType, ...]


def _python(function: Callable[..., Any], with_nulls: bool = False) -> Callable[..., Datum]:
    return lambda site, *datums: per_value(function, site.arrow, *datums, with_nulls=with_nulls)


def _row_type(context: CallContext) -> LogicalType:
    names = (f"EXPR${index}" for index in range(len(context.types)))
    return logical.RowType(tuple(map(RowField, names, context.types)), nullable=False)


def _array_type(context: CallContext) -> LogicalType:
    return logical.ArrayType(common_type(context.types) or logical.NullType(), nullable=False)


def _map_type(context: CallContext) -> LogicalType:
    key, value = common_type(context.types[::2]), common_type(context.types[1::2])
    assert key is not None
    assert value is not None
    return logical.MapType(key, value, nullable=False)


def _map_arguments(context: CallContext) -> Types | None:
    key, value = common_type(context.types[::2]), common_type(context.types[1::2])
    if key is None or value is None or len(context.types) % 2:
        return None
    if isinstance(key, logical.NullType):
        raise FunctionResolutionError(
            "MAP: all keys are NULL, so they have no type: CAST one of them"
        )
    kinds = (key, value)
    return tuple(kinds[i % 2].with_nullable(k.is_nullable) for i, k in enumerate(context.types))


def _length(frame: Frame, datums: tuple[Datum, ...]) -> int:
    return 1 if all(map(is_scalar, datums)) else frame.length


def _made(datum: Any, datums: tuple[Datum, ...]) -> Datum:
    return datum[0] if all(map(is_scalar, datums)) else datum


def _row(site: CallSite, frame: Frame, *datums: Datum) -> Datum:
    if not datums:  # of which Arrow would not know how many there are
        return pa.scalar({}, site.arrow)
    length = _length(frame, datums)
    parts = [
        conformed(array_of(datum, length), field.type)
        for datum, field in zip(datums, site.arrow, strict=True)
    ]
    return _made(pa.StructArray.from_arrays(parts, fields=list(site.arrow)), datums)


def _interleaved(datums: tuple[Datum, ...], length: int, kind: Any) -> Any:
    """Array of the first value of each datum, then the second value of each, and so on."""
    whole = pa.concat_arrays([conformed(array_of(datum, length), kind) for datum in datums])
    order = np.arange(length * len(datums)).reshape(len(datums), length).T.ravel()
    return whole.take(pa.array(order))


def _array(site: CallSite, frame: Frame, *datums: Datum) -> Datum:
    length = _length(frame, datums)
    values = _interleaved(datums, length, site.arrow.value_type)
    offsets = pa.array(range(0, length * len(datums) + 1, len(datums)), pa.int32())
    return _made(pa.ListArray.from_arrays(offsets, values, site.arrow), datums)


def _map(site: CallSite, frame: Frame, *datums: Datum) -> Datum:
    length = _length(frame, datums)
    keys, values = datums[::2], datums[1::2]
    if len(keys) == 1 or (all(map(is_scalar, keys)) and _differ(keys)):
        return _made(_map_of_columns(site.arrow, length, keys, values), datums)
    columns = [array_of(datum, length).to_pylist() for datum in datums]
    rows = [
        lists.entries(zip(row[::2], row[1::2], strict=True)) for row in zip(*columns, strict=True)
    ]
    return _made(pa.array(rows, site.arrow), datums)


def _differ(keys: tuple[Datum, ...]) -> bool:
    return len({lists.key_of(key.as_py()) for key in keys}) == len(keys)


def _map_of_columns(
    arrow: Any, length: int, keys: tuple[Datum, ...], values: tuple[Datum, ...]
) -> Any:
    """Maps whose keys differ from row to row."""
    key = _interleaved(keys, length, arrow.key_type)
    if key.null_count:
        raise EvaluationError(lists.NULL_KEY)
    offsets = pa.array(range(0, length * len(keys) + 1, len(keys)), pa.int32())
    return pa.MapArray.from_arrays(
        offsets, key, _interleaved(values, length, arrow.item_type), arrow
    )


def _cardinality(site: CallSite, value: Datum) -> Datum:
    if is_scalar(value) or not pa.types.is_list(value.type):
        return per_value(len, pa.int32(), value)
    return pc.list_value_length(value)


def _element(items: list[Any]) -> Any:
    if len(items) > 1:
        raise EvaluationError("ELEMENT: the array has more than one element; use x[1]")
    return items[0] if items else None


def _contains_type(context: CallContext) -> LogicalType:
    return logical.BooleanType(nullable=context.types[0].is_nullable)


def _element_type(context: CallContext) -> LogicalType:
    kind = context.types[0]
    return kind.children()[0].with_nullable(kind.is_nullable or kind.children()[0].is_nullable)


def _find(items: list[Any] | None, needle: Any, give: Callable[[Any, list[Any]], Any]) -> Any:
    return None if items is None else give(needle, items)


def _searched(give: Callable[[Any, list[Any]], Any]) -> Callable[..., Datum]:
    return _python(lambda items, needle: _find(items, needle, give), with_nulls=True)


def _array_of(part: int) -> ResultStrategy:
    return lambda context: logical.ArrayType(
        context.types[0].children()[part], nullable=context.any_nullable
    )


def _entries_type(context: CallContext) -> LogicalType:
    key, value = context.types[0].children()
    row = logical.RowType.of(("key", key), ("value", value))
    return logical.ArrayType(row, nullable=context.any_nullable)


def _map_of_arrays(context: CallContext) -> LogicalType:
    keys, values = context.types
    return logical.MapType(keys.children()[0], values.children()[0], nullable=context.any_nullable)


def _function(
    name: str,
    signatures: tuple[Signature, ...],
    result: ResultStrategy,
    kernel: Any,
    text: str,
    example: tuple[str, str],
    adjust: Callable[[CallContext], Types | None] | None = None,
    of_batch: bool = False,
    may_fail: bool = False,
) -> FunctionDefinition:
    return FunctionDefinition(
        name, signatures, result, kernel, adjust=adjust, of_batch=of_batch, may_fail=may_fail,
        category=CATEGORY, text=text, examples=(example,),
    )  # fmt: skip


_PAIR: tuple[Signature, ...] = (("ARRAY", "ARRAY"),)
_MERGED = merged_arguments()

COLLECTIONS: tuple[FunctionDefinition, ...] = (
    _function(
        "ROW",
        (("<ANY>*",),),
        _row_type,
        _row,
        "A row of values.",
        ("ROW(1, 'a')", "(1, a)"),
        of_batch=True,
    ),
    _function(
        "ARRAY",
        (("<ANY>", "<ANY>*"),),
        _array_type,
        _array,
        "An array of values.",
        ("ARRAY[1, 2.5]", "[1.0, 2.5]"),
        _MERGED,
        of_batch=True,
    ),
    _function(
        "MAP",
        (("<ANY>", "<ANY>", "<ANY>*"),),
        _map_type,
        _map,
        "A map of alternating keys and values.",
        ("MAP['a', 1]", "{a=1}"),
        _map_arguments,
        of_batch=True,
        may_fail=True,
    ),
    _function(
        "CARDINALITY",
        (ARRAY, ("MAP",), ("MULTISET",)),
        always("INT"),
        _cardinality,
        "Number of elements or entries.",
        ("CARDINALITY(ARRAY[1, 2])", "2"),
    ),
    _function(
        "ELEMENT",
        (ARRAY,),
        _element_type,
        _python(_element),
        "The only element; fails if there are several.",
        ("ELEMENT(ARRAY[5])", "5"),
        may_fail=True,
    ),
    _function(
        "ITEM",
        (("ARRAY", "INT"), ("MAP", "<ANY>"), ("ROW", "INT"), ("ROW", "<CHARACTER_STRING>")),
        item_type,
        item,
        "The element at a position from 1, or the value of a key; NULL if there is none.",
        ("ARRAY[1, 2][2]", "2"),
    ),
    _function(
        "GET",
        (("ROW",),),
        get_type,
        get,
        "A field of a row.",
        ("CAST(ROW(1) AS ROW<a INT>)", "(1)"),
    ),
    _function(
        "ARRAY_CONTAINS",
        (("ARRAY", "<ANY>"),),
        _contains_type,
        _searched(lambda needle, items: lists.place(items, needle) > 0),
        "Whether the array contains an element.",
        ("ARRAY_CONTAINS(ARRAY[1, 2], 2)", "TRUE"),
        needle,
    ),
    _function(
        "ARRAY_POSITION",
        (("ARRAY", "<ANY>"),),
        always("INT"),
        _python(lists.place),
        "Position of the first equal element, from 1; 0 if there is none.",
        ("ARRAY_POSITION(ARRAY[1, 2, 2], 2)", "2"),
        needle,
    ),
    _function(
        "ARRAY_REMOVE",
        (("ARRAY", "<ANY>"),),
        lambda context: context.types[0],
        _searched(lambda needle, items: lists.without(items, needle)),
        "Without an element.",
        ("ARRAY_REMOVE(ARRAY[1, 2, 2], 2)", "[1]"),
        needle,
    ),
    _function(
        "ARRAY_DISTINCT",
        (ARRAY,),
        argument(0),
        _python(lists.unique),
        "Each element once.",
        ("ARRAY_DISTINCT(ARRAY[1, 2, 2])", "[1, 2]"),
    ),
    _function(
        "ARRAY_UNION",
        _PAIR,
        argument(0),
        _python(lambda a, b: lists.unique(a + b)),
        "The distinct elements of both arrays.",
        ("ARRAY_UNION(ARRAY[1], ARRAY[1, 3])", "[1, 3]"),
        _MERGED,
    ),
    _function(
        "ARRAY_EXCEPT",
        _PAIR,
        argument(0),
        _python(lists.lacking),
        "The distinct elements of the first array that the second does not contain.",
        ("ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[2])", "[1]"),
        _MERGED,
    ),
    _function(
        "ARRAY_INTERSECT",
        _PAIR,
        argument(0),
        _python(lists.common),
        "The distinct elements that both arrays contain.",
        ("ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2])", "[2]"),
        _MERGED,
    ),
    _function(
        "ARRAY_REVERSE",
        (ARRAY,),
        argument(0),
        _python(lambda items: items[::-1]),
        "The elements in reverse order.",
        ("ARRAY_REVERSE(ARRAY[1, 2])", "[2, 1]"),
    ),
    _function(
        "ARRAY_SLICE",
        (("ARRAY", "INT", "INT?"),),
        argument(0),
        _python(lists.part),
        "The elements from one position to another; negative positions count from the end.",
        ("ARRAY_SLICE(ARRAY[1, 2, 3], 2, 3)", "[2, 3]"),
    ),
    _function(
        "ARRAY_SORT",
        (("ARRAY", "BOOLEAN?", "BOOLEAN?"),),
        argument(0),
        _python(lists.ordered),
        "The elements sorted; by default in ascending order, with NULLs first.",
        ("ARRAY_SORT(ARRAY[3, 1, 2])", "[1, 2, 3]"),
        ordered_elements,
    ),
    _function(
        "ARRAY_JOIN",
        (("ARRAY", "<CHARACTER_STRING>", "<CHARACTER_STRING>?"),),
        always("STRING"),
        _python(lists.joined),
        "The texts joined by a separator.",
        ("ARRAY_JOIN(ARRAY['a', 'b'], '+')", "a+b"),
        of_texts,
    ),
    _function(
        "ARRAY_MAX",
        (ARRAY,),
        item_type,
        _python(lists.extreme(max)),
        "The greatest element.",
        ("ARRAY_MAX(ARRAY[3, 1, 2])", "3"),
        ordered_elements,
    ),
    _function(
        "ARRAY_MIN",
        (ARRAY,),
        item_type,
        _python(lists.extreme(min)),
        "The least element.",
        ("ARRAY_MIN(ARRAY[3, 1, 2])", "1"),
        ordered_elements,
    ),
    _function(
        "ARRAY_APPEND",
        (("ARRAY", "<ANY>"),),
        argument(0),
        _searched(lambda new, items: [*items, new]),
        "The array with an element added at its end.",
        ("ARRAY_APPEND(ARRAY[1], 3)", "[1, 3]"),
        with_element(),
    ),
    _function(
        "ARRAY_PREPEND",
        (("ARRAY", "<ANY>"),),
        argument(0),
        _searched(lambda new, items: [new, *items]),
        "The array with an element added at its beginning.",
        ("ARRAY_PREPEND(ARRAY[1], 3)", "[3, 1]"),
        with_element(),
    ),
    _function(
        "ARRAY_CONCAT",
        (("ARRAY", "ARRAY*"),),
        argument(0),
        _python(lists.concatenated),
        "The elements of all arrays, one array after the other.",
        ("ARRAY_CONCAT(ARRAY[1], ARRAY[3])", "[1, 3]"),
        _MERGED,
    ),
    _function(
        "MAP_KEYS",
        (("MAP",),),
        _array_of(0),
        _python(lambda m: [k for k, _ in m]),
        "The keys.",
        ("MAP_KEYS(MAP['a', 1])", "[a]"),
    ),
    _function(
        "MAP_VALUES",
        (("MAP",),),
        _array_of(1),
        _python(lambda m: [v for _, v in m]),
        "The values.",
        ("MAP_VALUES(MAP['a', 1])", "[1]"),
    ),
    _function(
        "MAP_ENTRIES",
        (("MAP",),),
        _entries_type,
        _python(lambda m: [{"key": k, "value": v} for k, v in m]),
        "The entries as rows of key and value.",
        ("MAP_ENTRIES(MAP['a', 1])", "[(a, 1)]"),
    ),
    _function(
        "MAP_FROM_ARRAYS",
        _PAIR,
        _map_of_arrays,
        _python(lists.zipped),
        "A map of keys and values.",
        ("MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1])", "{a=1}"),
        may_fail=True,
    ),
    _function(
        "MAP_UNION",
        (("MAP", "MAP*"),),
        argument(0),
        _python(lists.union),
        "The entries of all maps; for equal keys, the last map's value is kept.",
        ("MAP_UNION(MAP['a', 1], MAP['a', 2])", "{a=2}"),
        _MERGED,
    ),
)


def _typeof(site: CallSite, value: Datum) -> Datum:
    kind: LogicalType = site.argument_types[0]
    return pa.scalar(str(kind))


TYPES: tuple[FunctionDefinition, ...] = (
    FunctionDefinition(
        "TYPEOF",
        (("<ANY>", "BOOLEAN?"),),
        fixed("STRING"),
        lambda site, value, *serializable: _typeof(site, value),
        category="Type conversion",
        text="The type of an expression as text.",
        examples=(("TYPEOF(1)", "INT NOT NULL"),),
    ),
)
"""Functions of types; CAST and TRY_CAST are expressions of their own."""
