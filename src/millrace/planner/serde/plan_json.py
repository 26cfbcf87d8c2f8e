"""`written_plan` and `plan_of`: convert optimised trees to JSON and back.

Flink: ``ExecNodeGraphJsonSerializer``. Each node is an object with its class and fields; nodes that
several others read are written once. Only the classes that are listed here are read: nothing of a
file is run.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import ModuleType
from typing import Any, Protocol

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical import logical_type
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import RowKind
from millrace.expressions import built_in, pattern_expressions, resolved
from millrace.expressions.call_options import (
    BetweenOrder,
    CallOptions,
    FieldPosition,
    JsonChoice,
    JsonClause,
    JsonClauses,
    JsonEvent,
    JsonKind,
    NullTreatment,
    TemporalUnit,
    TrimSide,
    signed_options,
)
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.pattern_expressions import PatternAggregate
from millrace.expressions.registry import function
from millrace.expressions.resolved import AggregateCall, Call, ResolvedExpression
from millrace.planner import catalog_reader
from millrace.planner.catalog_reader import SOURCE_WATERMARK, ResolvedModel, ResolvedTable
from millrace.planner.relational import (
    changelog,
    model_predict,
    process_table,
    rel_node,
    sink_nodes,
    stream_rel_nodes,
)
from millrace.planner.relational.rel_node import RelNode, TableFunctionKind, TableFunctionScan

__all__ = ["CatalogObjects", "plan_of", "value_of", "written_plan", "written_value"]


class CatalogObjects(Protocol):
    """Catalog objects that a plan refers to by name."""

    def contains(self, table: ResolvedTable) -> bool:
        """Whether a plan stores a table's schema and options in addition to its name.

        Raises:
            JobDefinitionError: the table exists only in this program.
        """
        ...

    def table_of(self, path: tuple[str, ...], definition: ResolvedTable | None) -> ResolvedTable:
        """The table with the given name.

        Args:
            definition: the table as the plan contains it, without its source and sink.

        Raises:
            JobDefinitionError: the table does not exist, or has changed.
        """
        ...

    def written_model(self, model: ResolvedModel) -> tuple[str, ...]:
        """Name by which a plan refers to a model.

        Raises:
            JobDefinitionError: the model has no name.
        """
        ...

    def model_of(
        self, path: tuple[str, ...], input_type: RowType, output_type: RowType
    ) -> ResolvedModel:
        """The model with the given name.

        Args:
            input_type, output_type: columns of the model when the plan was compiled.

        Raises:
            JobDefinitionError: the model does not exist, or has other columns.
        """
        ...

    def written_function(self, function: FunctionDefinition) -> str:
        """Name by which a plan refers to a user function.

        Raises:
            JobDefinitionError: the function has no name.
        """
        ...

    def function_of(self, name: str) -> FunctionDefinition:
        """The user function with the given name.

        Raises:
            JobDefinitionError: the function does not exist.
        """
        ...


def _classes(modules: Iterable[ModuleType]) -> dict[str, type]:
    members = (vars(module)[name] for module in modules for name in module.__all__)
    return {member.__name__: member for member in members if isinstance(member, type)}


_CLASSES: Mapping[str, type] = {
    name: cls
    for name, cls in {
        **_classes([rel_node, stream_rel_nodes, sink_nodes]),
        **_classes([changelog, process_table, model_predict]),
        **_classes([resolved, pattern_expressions, catalog_reader, logical_type]),
    }.items()
    if is_dataclass(cls) or issubclass(cls, Enum)
}
_CHANGELOGS = ("changes", "accepts")
_ROW_KINDS = {str(kind): kind for kind in RowKind}
_CALLS = (Call, AggregateCall, PatternAggregate)


def written_plan(roots: Sequence[RelNode], objects: CatalogObjects) -> dict[str, Any]:
    """Convert trees to JSON.

    Raises:
        JobDefinitionError: a part of the trees exists only in this program.
    """
    writer = _Writer(objects)
    ends = [writer.node(root) for root in roots]
    return {"nodes": writer.nodes, "roots": ends}


def plan_of(written: Mapping[str, Any], objects: CatalogObjects) -> list[RelNode]:
    """The trees of JSON written by `written_plan`.

    Raises:
        JobDefinitionError: the JSON is invalid, or names an object that no longer exists.
    """
    reader = _Reader(objects)
    try:
        for node in written["nodes"]:
            reader.add(node)
        return [reader.nodes[number] for number in written["roots"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise JobDefinitionError(
            f"this is not a plan, or it was written by another version: {error}"
        ) from error


class _Writer:
    def __init__(self, objects: CatalogObjects) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._objects = objects
        self._numbers: dict[int, tuple[RelNode, int]] = {}  # nodes are kept: their ids are theirs

    def node(self, node: RelNode) -> int:
        """Write a node and its inputs, unless they are written already, and return the node's
        number."""
        if id(node) not in self._numbers:
            written = self._fields(node)
            self._numbers[id(node)] = node, len(self.nodes) + 1
            self.nodes.append({"id": len(self.nodes) + 1, **written})
        return self._numbers[id(node)][1]

    def _fields(self, value: Any) -> dict[str, Any]:
        name = type(value).__name__
        of = _CLASSES.get(name)
        if of is not type(value):
            raise JobDefinitionError(f"a plan in a file cannot have a {name}")
        left_out = ("source", "function", "options") if issubclass(of, _CALLS) else ("source",)
        given = {
            field.name: self.value(getattr(value, field.name))
            for field in fields(of)
            if field.compare and field.name not in left_out
        }
        if isinstance(value, _CALLS):
            given |= self._call(value)
        elif isinstance(value, TableFunctionScan):
            given |= {"function": value.function.value, "payload": given.pop("ordinality")}
        return {KIND: name, **given}

    def _call(self, call: Call | AggregateCall | PatternAggregate) -> dict[str, Any]:
        """JSON of a call: the function's name, its arguments and options; for a user function
        its definition instead of options."""
        own = call.function
        payload = signed_options(call.options) if own.built_in else own
        return {"function": own.name, "payload": self.value(payload)}

    def value(self, value: Any) -> Any:
        """JSON of any value in a node."""
        if isinstance(value, RelNode):
            return {KIND: "node", "value": self.node(value)}
        if isinstance(value, tuple):
            return [self.value(item) for item in value]
        if isinstance(value, ResolvedTable):
            contained = self._fields(value) if self._objects.contains(value) else None
            return {KIND: "table", "path": list(value.path), "definition": contained}
        if isinstance(value, ResolvedModel):
            columns = [self.value(value.input_type), self.value(value.output_type)]
            path = list(self._objects.written_model(value))
            return {KIND: "model", "path": path, "columns": columns}
        if value is SOURCE_WATERMARK:
            return {KIND: "source watermark"}
        if isinstance(value, FunctionDefinition):
            return {KIND: "function", "value": self._objects.written_function(value)}
        if isinstance(value, RowKind):
            return str(value)
        if isinstance(value, Enum):
            return {KIND: type(value).__name__, "value": value.name}
        if isinstance(value, Mapping):
            pairs = [[key, self.value(item)] for key, item in value.items()]
            return {KIND: "map", "value": pairs}
        if isinstance(value, frozenset):
            return {KIND: "set", "value": sorted(map(self.value, value))}
        if isinstance(value, list):
            return {KIND: "list", "value": [self.value(item) for item in value]}
        if isinstance(value, LogicalType) and reads_back(value):
            return written_value(value)
        return self._fields(value) if is_dataclass(value) else written_value(value)


def _call(name: str, payload: Any) -> dict[str, Any]:
    """Fields of a call, read from JSON that `_Writer._call` wrote: its function, and its options
    if the function is built in."""
    if isinstance(payload, FunctionDefinition):
        return {"function": payload}
    definition = built_in.GROUPING if name == built_in.GROUPING.name else function(name)
    return {"function": definition, "options": _options(definition, payload)}


def _options(definition: FunctionDefinition, payload: Any) -> CallOptions | None:
    """The call options of JSON written from `signed_options`."""
    if payload is None:
        return None
    if definition is built_in.GET:
        return FieldPosition(payload)
    if isinstance(payload, tuple):
        return JsonClauses(tuple(_clause(*clause) for clause in payload))
    return _FAMILIES.get(definition, TemporalUnit)(payload)


_FAMILIES: Mapping[FunctionDefinition, Callable[[str], CallOptions]] = {
    built_in.TRIM: TrimSide,
    built_in.BETWEEN: BetweenOrder,
    built_in.ARRAY_AGG: NullTreatment,
    built_in.IS_JSON: JsonKind,
}
"""Families of options by function; the others have units of time."""


def _clause(event: str, choice: Any, default: ResolvedExpression | None) -> JsonClause:
    chosen = JsonChoice(choice) if isinstance(choice, str) else choice
    return JsonClause(JsonEvent(event), chosen, default)


class _Reader:
    def __init__(self, objects: CatalogObjects) -> None:
        self.nodes: dict[int, RelNode] = {}
        self._objects = objects
        self._of_kind: dict[str, Callable[[Any], Any]] = {
            "node": lambda written: self.nodes[written],
            "function": objects.function_of,
            "list": lambda written: [self.value(item) for item in written],
            "set": lambda written: frozenset(self.value(item) for item in written),
            "map": lambda written: {key: self.value(item) for key, item in written},
        }

    def add(self, written: Mapping[str, Any]) -> None:
        """Read a node whose inputs have been read."""
        self.nodes[written["id"]] = self._object(written)

    def _object(self, written: Mapping[str, Any]) -> Any:
        of = _CLASSES[written[KIND]]
        given = {
            name: self.value(part) for name, part in written.items() if name not in (KIND, "id")
        }
        if issubclass(of, Enum):
            return of[given["value"]]
        if issubclass(of, _CALLS):
            given |= _call(given["function"], given.pop("payload"))
        elif of is ResolvedTable:
            kinds = {name: frozenset(map(_ROW_KINDS.get, given[name])) for name in _CHANGELOGS}
            given |= kinds
        elif of is TableFunctionScan:
            given["function"] = TableFunctionKind(given["function"])
            given["ordinality"] = bool(given.pop("payload"))  # null in older plans
        return of(**given)

    def value(self, written: Any) -> Any:
        """The value of JSON written by `_Writer.value`."""
        if isinstance(written, list):
            return tuple(self.value(item) for item in written)
        if not isinstance(written, dict):
            return written
        kind = written[KIND]
        if kind == "source watermark":
            return SOURCE_WATERMARK
        if kind == "table":
            definition = written["definition"]
            contained = None if definition is None else self._object(definition)
            return self._objects.table_of(tuple(written["path"]), contained)
        if kind == "model":
            return self._objects.model_of(tuple(written["path"]), *self.value(written["columns"]))
        if kind in self._of_kind:
            return self._of_kind[kind](written["value"])
        return self._object(written) if kind in _CLASSES else value_of(written)


KIND = "@"
"""The key of an object that says what it stands for; its value is under ``value``."""

_MICROSECOND = timedelta(microseconds=1)


_KINDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "type": (LogicalType, str, parse_type),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, lambda raw: base64.b64encode(raw).decode(), base64.b64decode),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "duration": (
        timedelta,
        lambda span: span // _MICROSECOND,
        lambda count: timedelta(microseconds=count),
    ),
}
"""Class, writer and reader of values in JSON, by name. A datetime is a date, too."""


def reads_back(kind: LogicalType) -> bool:
    """Whether a type's text describes the type completely. The text of an interval does not,
    because it omits unused digits.
    """
    return parse_type(str(kind)) == kind


def written_value(value: Any) -> Any:
    """Convert a constant to JSON.

    Raises:
        JobDefinitionError: the value's class is not supported.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {KIND: "float", "value": repr(value)}
    for kind, (of, write, _) in _KINDS.items():
        if isinstance(value, of):
            return {KIND: kind, "value": write(value)}
    raise JobDefinitionError(f"a plan in a file cannot have a {type(value).__name__}: {value!r}")


def value_of(written: Any) -> Any:
    """The constant of JSON written by `written_value`."""
    if not isinstance(written, dict):
        return written
    if written[KIND] == "float":
        return float(written["value"])
    return _KINDS[written[KIND]][2](written["value"])
