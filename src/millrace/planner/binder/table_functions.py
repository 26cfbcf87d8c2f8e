"""Functions in FROM: windows (TUMBLE, HOP, CUMULATE, SESSION), UNNEST, user functions, and temporal
table functions (``LATERAL TABLE (rates(o.ts))``)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowField, RowType
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.registry import find, known_names
from millrace.expressions.resolved import OuterReference, ResolvedExpression, ValueLiteral
from millrace.planner.binder.calls import definition_of, resolved_call, split_arguments
from millrace.planner.binder.changelog_functions import (
    CHANGELOG_FUNCTIONS,
    bind_changelog_function,
)
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.model_predict import ML_PREDICT, bind_model_predict
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.process_tables import bind_process_table
from millrace.planner.binder.scope import Scope, table_of
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import RelNode, TableFunctionKind, TableFunctionScan
from millrace.planner.relational.stream_rel_nodes import (
    LogicalSnapshot,
    TimeAttribute,
    WindowingStrategy,
    WindowKind,
    WindowTableFunction,
)
from millrace.planner.relational.temporal_tables import TemporalTable
from millrace.sql.dialect import nodes

__all__ = ["bind_function_table", "bind_unnest", "milliseconds", "windowed"]

PARAMETERS: Final = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}


def bind_function_table(
    binder: FromContext, node: nodes.TableFunctionCall, left: Scope | None
) -> tuple[RelNode, tuple[str, ...]]:
    """The rows of a function in FROM, and the name that qualifies its columns."""
    call = node.this
    name = call.name.upper()
    if name in PARAMETERS and len(call.path) == 1:
        return _window(binder, call, name)
    if name == ML_PREDICT and len(call.path) == 1:
        return bind_model_predict(binder, call), ()
    user_defined = definition_of(binder.context, call)
    if user_defined is None and name in CHANGELOG_FUNCTIONS and len(call.path) == 1:
        return bind_changelog_function(binder, call, name), ()
    if user_defined is not None and user_defined.kind is FunctionKind.PROCESS_TABLE:
        return bind_process_table(binder, call, user_defined), ()
    if user_defined is not None and user_defined.temporal is not None:
        return _bind_temporal_table(binder, call, user_defined, left), ()
    expressions = binder.expressions(Scope(parent=left or binder.outer), "LATERAL TABLE")
    if name == "UNNEST":
        return _unnest(binder, call, [expressions.bind(a) for a in call.arguments], False), ()
    arguments, options = split_arguments(call.arguments, expressions.bind)
    definition = user_defined or find(name)
    if definition is not None and definition.kind is not FunctionKind.TABLE:
        raise binder.context.refusal(
            call, f"{call.name} is not a table function: it returns one value"
        )
    if definition is None:
        hint = did_you_mean(name, known_names())
        raise binder.context.refusal(call, f"there is no table function {call.name!r}{hint}")
    rows = resolved_call(binder.context, call, definition, arguments, options)
    return _unnest(binder, call, [rows], False), ()


def bind_unnest(binder: FromContext, node: nodes.CollectionTable, left: Scope | None) -> RelNode:
    """The rows of ``UNNEST(tags) WITH ORDINALITY``: one per element; an element that is a row
    becomes a column per field."""
    expressions = binder.expressions(Scope(parent=left or binder.outer), "UNNEST")
    operands = [expressions.bind(operand) for operand in node.expressions]
    return _unnest(binder, node, operands, bool(node.args.get("ordinality")))


def _unnest(
    binder: FromContext, node: exp.Expr, operands: list[ResolvedExpression], ordinality: bool
) -> RelNode:
    columns: list[tuple[str, LogicalType]] = []
    for operand in operands:
        kind = operand.output_type
        if isinstance(kind, logical.MapType):
            columns += [("KEY", kind.key_type), ("VALUE", kind.value_type)]
        elif isinstance(kind, logical.ArrayType):  # and MULTISET
            element = kind.element_type
            if isinstance(element, RowType):
                columns += [(part.name, part.type) for part in element.fields]
            else:
                columns.append(("EXPR$0", element))
        else:
            reason = f"UNNEST takes an ARRAY, a MAP or a MULTISET, not {kind}"
            raise binder.context.refusal(node, reason)
    if ordinality:
        columns.append(("ORDINALITY", logical.IntType(nullable=False)))
    names = unique_names(name for name, _ in columns)
    row = RowType.of(*zip(names, (kind for _, kind in columns), strict=True))
    return TableFunctionScan(TableFunctionKind.UNNEST, tuple(operands), row, ordinality)


def _window(
    binder: FromContext, call: nodes.FunctionCall, name: str
) -> tuple[RelNode, tuple[str, ...]]:
    given = _by_parameter(binder, call, name)
    data = given.get("DATA")
    if not isinstance(data, nodes.TableArgument):
        raise binder.context.refusal(call, f"{name} takes a table: {name}(TABLE t, ...)")
    rows = binder.table_rows(data)
    scope = Scope((table_of((), rows.row_type),))
    time = _time_column(binder, call, name, given.get("TIMECOL"), rows)
    partition = []
    for partition_key in data.args.get("partition_by") or ():
        bound = binder.expressions(scope, "PARTITION BY").bind(partition_key)
        partition.append(getattr(bound, "index", -1))
    constant = binder.expressions(Scope(), name)
    sizes = {
        key: milliseconds(binder.context, node, constant.bind(node))
        for key, node in given.items()
        if key not in ("DATA", "TIMECOL")
    }
    needed = [key for key in PARAMETERS[name][2:] if key != "OFFSET" and key not in sizes]
    if needed:
        raise binder.context.refusal(call, f"{name} needs the argument {needed[0]}")
    window = WindowingStrategy(
        WindowKind[name],
        sizes.get("SIZE", sizes.get("GAP", 0)),
        sizes.get("SLIDE", sizes.get("STEP", 0)),
        sizes.get("OFFSET", 0),
        tuple(partition),
    )
    for key, milliseconds_of in sizes.items():
        if milliseconds_of <= 0 and key != "OFFSET":
            raise binder.context.refusal(call, f"{name}: {key} must be greater than 0")
    if name == "CUMULATE" and window.size % window.slide:
        raise binder.context.refusal(call, "CUMULATE: SIZE must be a multiple of STEP")
    return binder.context.placed(windowed(rows, time, window), call), ()


def _by_parameter(binder: FromContext, call: nodes.FunctionCall, name: str) -> dict[str, exp.Expr]:
    parameters = PARAMETERS[name]
    given: dict[str, exp.Expr] = {}
    for position, argument in enumerate(call.arguments):
        if isinstance(argument, exp.Kwarg):
            key = argument.this.name.upper()
            if key not in parameters:
                hint = did_you_mean(key, parameters)
                raise binder.context.refusal(argument, f"{name} has no parameter {key}{hint}")
            given[key] = argument.expression
        elif position < len(parameters):
            given[parameters[position]] = argument
        else:
            raise binder.context.refusal(argument, f"{name} takes ({', '.join(parameters)})")
    return given


def _time_column(
    binder: FromContext, call: exp.Expr, name: str, descriptor: exp.Expr | None, rows: RelNode
) -> int:
    if not isinstance(descriptor, nodes.Descriptor) or len(descriptor.expressions) != 1:
        raise binder.context.refusal(call, f"{name} takes one time column: DESCRIPTOR(column)")
    column = descriptor.expressions[0].name
    names = rows.row_type.names
    if column not in names:
        hint = did_you_mean(column, names)
        raise binder.context.refusal(descriptor, f"column {column!r} is not in the table{hint}")
    kind = rows.row_type.fields[names.index(column)].type
    if not isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType):
        reason = f"{name} requires a time attribute, but {column!r} is of type {kind}"
        raise binder.context.refusal(descriptor, reason)
    return names.index(column)


def milliseconds(context: BindingContext, node: exp.Expr, value: ResolvedExpression) -> int:
    """Size of a window in ms."""
    if isinstance(value, ValueLiteral) and isinstance(value.value, timedelta):
        return value.value // timedelta(milliseconds=1)
    raise context.refusal(
        node, "the size of a window must be a constant INTERVAL in days or smaller units"
    )


def _with_milliseconds(kind: LogicalType) -> LogicalType:
    """The time type with at least millisecond precision, since window_time is one millisecond
    before a window's end."""
    if isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType):
        return replace(kind, precision=max(kind.precision, 3))
    return kind


def windowed(rows: RelNode, time: int, window: WindowingStrategy) -> WindowTableFunction:
    """The input rows, followed by the columns window_start, window_end and window_time."""
    kind = _with_milliseconds(rows.row_type.fields[time].type.with_nullable(False))
    stamp = logical.TimestampType(3, nullable=False)
    names = unique_names((*rows.row_type.names, "window_start", "window_end", "window_time"))
    kinds = (*(field.type for field in rows.row_type), stamp, stamp, kind)
    pairs = zip(names, kinds, strict=True)
    row = RowType(tuple(RowField(name, column_kind) for name, column_kind in pairs))
    local = isinstance(kind, logical.LocalZonedTimestampType)
    processing = time_attributes(rows).get(time) is TimeAttribute.PROCTIME
    window = replace(window, local=local, processing=processing)
    return WindowTableFunction(rows, time, window, row)


def _bind_temporal_table(
    binder: FromContext,
    call: nodes.FunctionCall,
    definition: FunctionDefinition,
    left: Scope | None,
) -> RelNode:
    """The versions of the function's table as of a time of the left row.

    Raises:
        SqlValidationError: the argument is no column of the tables before it.
    """
    table: TemporalTable = definition.temporal
    name = call.name
    if len(call.arguments) != 1:
        raise binder.context.refusal(
            call,
            f"{name} is a temporal table function: it takes one argument, the time attribute of "
            f"the left table, not {len(call.arguments)}",
        )
    scope = Scope(parent=left or binder.outer)
    period = binder.expressions(scope, "LATERAL TABLE").bind(call.arguments[0])
    if left is None or not isinstance(period, OuterReference) or period.level != 1:
        raise binder.context.refusal(
            call,
            f"{name} is a temporal table function: its argument is a column of a table before it "
            "in FROM, the time attribute of its rows: FROM orders AS o, "
            f"LATERAL TABLE({name}(o.ts))",
        )
    rows = LogicalSnapshot(table.rows, period, definition.name, table.versions)
    return binder.context.placed(rows, call)
