"""Calls of process table functions: ``f(input => TABLE t PARTITION BY k, on_time => ...)``.

Flink docs: "Process Table Functions", "Call Syntax".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import IntType, LogicalType, RowField, RowType
from millrace.common.types.row import UPSERTS
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.parameters import implicit_cast
from millrace.expressions.process_table_functions import (
    ArgumentTrait,
    ProcessArgument,
    ProcessSignature,
)
from millrace.expressions.registry import resolve_cast
from millrace.expressions.resolved import (
    FieldReference,
    ResolvedExpression,
    SortKey,
    ValueLiteral,
)
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.scope import Scope, table_of
from millrace.planner.relational.process_table import ProcessTable, TableOperand
from millrace.planner.relational.rel_node import RelNode, Values
from millrace.planner.relational.stream_rel_nodes import ChangelogNormalize
from millrace.sql.dialect import nodes

__all__ = ["bind_process_table"]

ON_TIME, UID = "on_time", "uid"
_ONE = IntType(nullable=False)
_ONE_ROW = Values(((ValueLiteral(1, _ONE),),), RowType((RowField("$one", _ONE),), nullable=False))
Given = dict[str, exp.Expr]


def bind_process_table(
    binder: FromContext, call: nodes.FunctionCall, definition: FunctionDefinition
) -> RelNode:
    """The rows of a call of a process table function.

    Raises:
        SqlValidationError: an argument is missing, unknown or not what the function takes.
    """
    return _ProcessCall(binder, call, definition).bound()


class _ProcessCall:
    """A call of a process table function."""

    def __init__(
        self, binder: FromContext, call: nodes.FunctionCall, definition: FunctionDefinition
    ) -> None:
        signature = definition.process
        assert isinstance(signature, ProcessSignature)
        self._binder, self._call, self._definition = binder, call, definition
        self._signature = signature

    def bound(self) -> RelNode:
        given, signature = self._given(), self._signature
        on_time, uid = given.pop(ON_TIME, None), given.pop(UID, None)
        columns = [] if on_time is None else self._descriptor(on_time)
        operands: list[RelNode] = []
        tables: list[TableOperand] = []
        values: list[ResolvedExpression | None] = []
        for place, argument in enumerate(signature.arguments):
            node = given.get(argument.name)
            if argument.is_table and node is not None:
                rows, table = self._table(place, argument, node, columns)
                operands.append(rows)
                tables.append(table)
            values.append(self._value(argument, node))
        if not operands:
            operands, tables = [_ONE_ROW], [TableOperand(None)]
        self._check(operands, tables, columns, on_time)
        name = self._definition.name if uid is None else self._text(uid)
        result = self._result_type(operands, tables)
        made = ProcessTable(
            self._definition, tuple(operands), tuple(tables), tuple(values), name, result
        )
        made = self._binder.context.placed(made, self._call)
        if signature.changes == UPSERTS:
            return ChangelogNormalize(made, tuple(range(len(tables[0].partition))))
        return made

    def _refusal(self, node: exp.Expr, reason: str) -> Exception:
        return self._binder.context.refusal(node, reason)

    def _given(self) -> Given:
        """Syntax nodes of the arguments by name, without omitted arguments and DEFAULT."""
        names = [*(declared.name for declared in self._signature.arguments), ON_TIME, UID]
        by_name: Given = {}
        for position, node in enumerate(self._call.arguments):
            if isinstance(node, exp.Kwarg):
                name, value = _known(node.this.name, names), node.expression
                if name is None:
                    hint = did_you_mean(node.this.name, names)
                    raise self._refusal(
                        node, f"{self._expected()} has no argument {node.this.name!r}{hint}"
                    )
            elif position < len(names):
                name, value = names[position], node
            else:
                raise self._refusal(node, f"there are too many arguments: {self._expected()}")
            if name in by_name:
                raise self._refusal(node, f"the argument {name!r} is given twice")
            if not isinstance(value, nodes.DefaultValue):
                by_name[name] = value
        for argument in self._signature.arguments:
            if argument.name not in by_name and not argument.optional:
                raise self._refusal(
                    self._call, f"the argument {argument.name!r} is missing: {self._expected()}"
                )
        return by_name

    def _expected(self) -> str:
        return self._signature.text(self._definition.name)

    def _descriptor(self, node: exp.Expr) -> list[str]:
        if not isinstance(node, nodes.Descriptor) or not node.expressions:
            raise self._refusal(
                node, "on_time must be the name of a column: on_time => DESCRIPTOR(ts)"
            )
        return [column.name for column in node.expressions]

    def _text(self, node: exp.Expr) -> str:
        value = self._binder.expressions(Scope(), UID).bind(node)
        if not isinstance(value, ValueLiteral) or not isinstance(value.value, str):
            raise self._refusal(node, "uid must be a constant text: uid => 'my-function'")
        return value.value

    # -- arguments ---------------------------------------------------------------------------

    def _value(self, argument: ProcessArgument, node: exp.Expr | None) -> ResolvedExpression | None:
        if argument.is_table:
            return None
        wanted = argument.type
        assert wanted is not None
        if node is None:
            return None
        if isinstance(node, nodes.TableArgument):
            raise self._refusal(node, f"{argument.name!r} must be a value, not a table")
        if node.find(exp.Column) is not None:
            raise self._refusal(
                node,
                f"{argument.name!r} must be one value for all rows, so it cannot refer to "
                "columns: the columns of a row come with its table",
            )
        value = self._binder.expressions(Scope(), self._definition.name).bind(node)
        kind = implicit_cast(value.output_type, wanted)
        if kind is None:
            raise self._refusal(
                node, f"{argument.name!r} must be {wanted}, not {value.output_type}"
            )
        if kind == value.output_type:
            return value
        return resolve_cast(value, kind)

    def _table(
        self, place: int, argument: ProcessArgument, node: exp.Expr, columns: Sequence[str]
    ) -> tuple[RelNode, TableOperand]:
        if not isinstance(node, nodes.TableArgument):
            raise self._refusal(
                node, f"{argument.name!r} must be a table: {argument.name} => TABLE my_table"
            )
        rows = self._binder.table_rows(node)
        self._check_columns(argument, node, rows.row_type)
        names = rows.row_type.names
        partition = tuple(
            self._column(rows, key, "PARTITION BY") for key in node.args.get("partition_by") or ()
        )
        order = tuple(
            SortKey(
                self._column(rows, key.this, "ORDER BY"),
                not key.args.get("desc"),
                _nulls_first(key),
            )
            for key in node.args.get("order") or ()
        )
        if argument.is_set:
            optional = ArgumentTrait.OPTIONAL_PARTITION_BY in argument.traits
            if not partition and not optional:
                raise self._refusal(
                    node,
                    f"{argument.name!r} is a table with set semantics: it needs PARTITION BY, for "
                    f"example TABLE t PARTITION BY {names[0]}",
                )
        elif partition or order:
            raise self._refusal(
                node,
                f"{argument.name!r} is a table with row semantics, whose rows are processed one by "
                "one: it takes neither PARTITION BY nor ORDER BY",
            )
        self._check_partition(node, rows, partition)
        timed = [names.index(name) for name in columns if name in names]
        time = timed[0] if timed else None
        self._check_order(node, rows, order)
        return rows, TableOperand(place, partition, order, time)

    def _column(self, rows: RelNode, node: exp.Expr, clause: str) -> int:
        scope = Scope((table_of((), rows.row_type),))
        bound = self._binder.expressions(scope, clause).bind(node)
        if not isinstance(bound, FieldReference):
            raise self._refusal(node, f"{clause} of a table argument takes columns")
        return bound.index

    def _check_columns(self, argument: ProcessArgument, node: exp.Expr, given: RowType) -> None:
        """Check that the table's rows have the declared type."""
        wanted = argument.type
        if wanted is None:
            return
        assert isinstance(wanted, RowType)
        fits = len(wanted) == len(given) and all(
            implicit_cast(one.type, two.type) is not None
            for one, two in zip(given, wanted, strict=True)
        )
        if not fits:
            raise self._refusal(
                node, f"{argument.name!r} must be a table of {wanted}, not of {given}"
            )

    def _check_partition(self, node: exp.Expr, rows: RelNode, partition: tuple[int, ...]) -> None:
        for index in partition:
            column = rows.row_type.fields[index]
            if isinstance(column.type, logical.ArrayType | logical.MapType | RowType):
                raise self._refusal(
                    node, f"PARTITION BY cannot use {column.name!r}, which is of type {column.type}"
                )

    def _check_order(self, node: exp.Expr, rows: RelNode, order: tuple[SortKey, ...]) -> None:
        if not order:
            return
        first = rows.row_type.fields[order[0].index]
        if not _is_time(first.type) or not order[0].ascending:
            raise self._refusal(
                node,
                "ORDER BY of a table argument must begin with a time attribute in ascending "
                f"order, but {first.name!r} is {first.type}{'' if order[0].ascending else ' DESC'}",
            )

    # -- the whole ---------------------------------------------------------------------------

    def _check(
        self,
        operands: Sequence[RelNode],
        tables: Sequence[TableOperand],
        columns: Sequence[str],
        on_time: exp.Expr | None,
    ) -> None:
        signature = self._signature
        required = [
            argument.name
            for argument in signature.tables
            if ArgumentTrait.REQUIRE_ON_TIME in argument.traits
        ]
        if required and on_time is None:
            raise self._refusal(
                self._call,
                f"{self._definition.name} needs on_time => DESCRIPTOR(...), the time of "
                f"{required[0]!r}",
            )
        for name in columns:
            types = [
                rows.row_type.fields[rows.row_type.names.index(name)].type
                for rows in operands
                if name in rows.row_type.names
            ]
            assert on_time is not None
            if not types:
                known = [column for rows in operands for column in rows.row_type.names]
                raise self._refusal(
                    on_time, f"on_time: there is no column {name!r}{did_you_mean(name, known)}"
                )
            if not _is_time(types[0]):
                raise self._refusal(
                    on_time, f"on_time must be a time attribute, but {name!r} is {types[0]}"
                )
        self._check_tables(operands, tables)

    def _check_tables(self, operands: Sequence[RelNode], tables: Sequence[TableOperand]) -> None:
        kinds = [
            [rows.row_type.fields[index].type.with_nullable(True) for index in table.partition]
            for rows, table in zip(operands, tables, strict=True)
        ]
        if any(partition_kinds != kinds[0] for partition_kinds in kinds):
            raise self._refusal(
                self._call,
                "all tables of a process table function must be partitioned by the same number of "
                f"columns of the same types, not by {' and '.join(map(str, kinds))}",
            )
        times = {
            str(rows.row_type.fields[table.time].type.with_nullable(True))
            for rows, table in zip(operands, tables, strict=True)
            if table.time is not None
        }
        if len(times) > 1:
            raise self._refusal(
                self._call,
                f"on_time must have the same type in all tables, not {' and '.join(sorted(times))}",
            )

    def _result_type(self, operands: Sequence[RelNode], tables: Sequence[TableOperand]) -> RowType:
        columns: list[RowField] = []
        for rows, table in zip(operands, tables, strict=True):
            argument = None if table.argument is None else self._signature.arguments[table.argument]
            passes = argument is not None and ArgumentTrait.PASS_COLUMNS_THROUGH in argument.traits
            prefix = range(len(rows.row_type)) if passes else table.partition
            columns += [rows.row_type.fields[index] for index in prefix]
        columns += self._signature.row_type.fields
        fields = [(column.name, column.type) for column in columns]
        for rows, table in zip(operands, tables, strict=True):
            if table.time is not None:
                fields.append(("rowtime", _in_millis(rows.row_type.fields[table.time].type)))
                break
        names = unique_names(name for name, _ in fields)
        pairs = zip(names, (kind for _, kind in fields), strict=True)
        return RowType(tuple(RowField(name, kind) for name, kind in pairs))


def _known(name: str, names: Sequence[str]) -> str | None:
    """The argument name that matches a name, ignoring case if only one argument does; None if no
    argument matches."""
    if name in names:
        return name
    alike = [candidate for candidate in names if candidate.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _nulls_first(ordered: Any) -> bool:
    given = ordered.args.get("nulls_first")
    return not ordered.args.get("desc") if given is None else bool(given)


def _in_millis(kind: LogicalType) -> LogicalType:
    """Type of ``rowtime``, with a precision of at least milliseconds, since timers are in
    milliseconds."""
    if isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType):
        return replace(kind, precision=max(kind.precision, 3))
    return kind


def _is_time(kind: LogicalType) -> bool:
    return isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType)
