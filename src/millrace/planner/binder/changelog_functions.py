"""The functions ``TO_CHANGELOG(input => TABLE t, ...)`` and ``FROM_CHANGELOG(...)`` in FROM.

Flink docs: "Changelog Conversion".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical import logical_type as logical
from millrace.expressions.resolved import FieldReference, ValueLiteral
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.scope import Scope, table_of
from millrace.planner.inference.upsert_keys import upsert_keys
from millrace.planner.relational.changelog import (
    DEFAULT_CODES,
    OPERATIONS,
    FromChangelog,
    ToChangelog,
)
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import ChangelogNormalize
from millrace.sql.dialect import nodes

__all__ = ["CHANGELOG_FUNCTIONS", "bind_changelog_function"]

_SYSTEM = ("on_time", "uid")
_PARAMETERS = {
    "TO_CHANGELOG": ("input", "op", "op_mapping", "produces_full_deletes", *_SYSTEM),
    "FROM_CHANGELOG": ("input", "op", "op_mapping", "error_handling", *_SYSTEM),
}
CHANGELOG_FUNCTIONS = frozenset(_PARAMETERS)

_OP = "op"
_HANDLING = ("FAIL", "SKIP")


def bind_changelog_function(binder: FromContext, call: nodes.FunctionCall, name: str) -> RelNode:
    """The rows of a call of a changelog function.

    Raises:
        SqlValidationError: an argument is missing, unknown or not what the function takes.
    """
    made = _ChangelogCall(binder, call, name)
    return made.to_changelog() if name == "TO_CHANGELOG" else made.from_changelog()


class _ChangelogCall:
    """A call of a changelog function."""

    def __init__(self, binder: FromContext, call: nodes.FunctionCall, name: str) -> None:
        self._binder, self._call, self._name = binder, call, name
        self._given = self._arguments()
        table = self._given.get("input")
        if not isinstance(table, nodes.TableArgument):
            raise self._refusal(table or call, f"{name} takes a table: {name}(input => TABLE t)")
        self._rows = binder.table_rows(table)
        self._partition = tuple(
            self._column(column) for column in table.args.get("partition_by") or ()
        )
        for key in table.args.get("order") or ():
            raise self._refusal(
                key, f"{name} takes no ORDER BY: it processes rows in their order of arrival"
            )
        self._time = self._time_column()
        self._text("uid", "uid => 'my-function'")

    def to_changelog(self) -> RelNode:
        """The node that turns the table's changes into rows."""
        op = self._op_name()
        codes = []
        seen: set[str] = set()
        for node, names, code in self._mapping(DEFAULT_CODES):
            for name in _parts(names):
                codes.append((self._operation(node, name, seen), code))
        kept = self._kept()
        made = ToChangelog(self._rows, op, tuple(codes), kept, self._partition, (), self._time)
        return self._named(made, op)

    def from_changelog(self) -> RelNode:
        """The node that turns the table's rows into changes."""
        op = self._op_column()
        codes: dict[str, str] = {}
        seen: set[str] = set()
        node: exp.Expr = self._call
        for node, texts, name in self._mapping(DEFAULT_CODES):
            operation = self._operation(node, name.strip(), seen)
            for code in _parts(texts):
                if code in codes:
                    raise self._refusal(node, f"Duplicate op code: {code!r} in op_mapping")
                codes[code] = operation
        by_key = "UPDATE_AFTER" in seen and "UPDATE_BEFORE" not in seen
        if by_key and not self._partition:
            raise self._refusal(
                self._given.get("op_mapping", self._call),
                "op_mapping must include UPDATE_BEFORE where it has UPDATE_AFTER: without the row "
                "before an update, say by which columns rows are told apart, as in TABLE t "
                f"PARTITION BY {self._rows.row_type.names[0]}",
            )
        handling = self._text("error_handling", "error_handling => 'SKIP'") or _HANDLING[0]
        if handling.upper() not in _HANDLING:
            raise self._refusal(
                self._given["error_handling"],
                f"error_handling must be 'FAIL' or 'SKIP', not {handling!r}",
            )
        skips = handling.upper() == "SKIP"
        made = FromChangelog(
            self._rows, op, tuple(codes.items()), skips, self._partition, (), self._time
        )
        named = self._named(made, None)
        return ChangelogNormalize(named, tuple(range(len(self._partition)))) if by_key else named

    # -- arguments ---------------------------------------------------------------------------

    def _refusal(self, node: exp.Expr, reason: str) -> Exception:
        return self._binder.context.refusal(node, reason)

    def _arguments(self) -> dict[str, exp.Expr]:
        """Syntax nodes of the arguments by name, without omitted arguments and DEFAULT."""
        parameters = _PARAMETERS[self._name]
        given: dict[str, exp.Expr] = {}
        for position, node in enumerate(self._call.arguments):
            if isinstance(node, exp.Kwarg):
                name, value = node.this.name.lower(), node.expression
            elif position < len(parameters):
                name, value = parameters[position], node
            else:
                raise self._refusal(node, f"{self._name} takes ({', '.join(parameters)})")
            if name not in parameters:
                hint = did_you_mean(name, parameters)
                raise self._refusal(node, f"{self._name} has no argument {name!r}{hint}")
            if name in given:
                raise self._refusal(node, f"the argument {name!r} is given twice")
            if not isinstance(value, nodes.DefaultValue):
                given[name] = value
        return given

    def _column(self, node: exp.Expr) -> int:
        scope = Scope((table_of((), self._rows.row_type),))
        bound = self._binder.expressions(scope, "PARTITION BY").bind(node)
        if not isinstance(bound, FieldReference):
            raise self._refusal(node, "PARTITION BY of a table argument takes columns")
        if isinstance(bound.output_type, logical.ArrayType | logical.MapType | logical.RowType):
            raise self._refusal(
                node, f"PARTITION BY cannot use a column of type {bound.output_type}"
            )
        return bound.index

    def _descriptor(self, name: str) -> str | None:
        """Name of the single column in a DESCRIPTOR argument; None if the argument is omitted."""
        node = self._given.get(name)
        if node is None:
            return None
        if not isinstance(node, nodes.Descriptor):
            raise self._refusal(
                node, f"{name} must be the name of a column: {name} => DESCRIPTOR(c)"
            )
        if len(node.expressions) != 1:
            raise self._refusal(
                node, f"The descriptor for argument {name!r} must contain exactly one column name"
            )
        return str(node.expressions[0].name)

    def _op_name(self) -> str:
        return self._descriptor(_OP) or _OP

    def _op_column(self) -> int:
        name, names = self._op_name(), self._rows.row_type.names
        node = self._given.get(_OP, self._call)
        if name not in names:
            raise self._refusal(
                node,
                f"The op column {name!r} does not exist in the input table"
                f"{did_you_mean(name, names)}",
            )
        place = names.index(name)
        kind = self._rows.row_type.fields[place].type
        if not isinstance(kind, logical.VarCharType | logical.CharType):
            raise self._refusal(
                node, f"The op column {name!r} must be of STRING type, it is {kind}"
            )
        if place in self._partition:
            raise self._refusal(node, f"The op column {name!r} cannot be in PARTITION BY")
        return place

    def _time_column(self) -> int | None:
        name = self._descriptor("on_time")
        if name is None:
            return None
        names, node = self._rows.row_type.names, self._given["on_time"]
        if name not in names:
            hint = did_you_mean(name, names)
            raise self._refusal(node, f"on_time: there is no column {name!r}{hint}")
        place = names.index(name)
        kind = self._rows.row_type.fields[place].type
        if not isinstance(kind, logical.TimestampType | logical.LocalZonedTimestampType):
            raise self._refusal(node, f"on_time must be a time attribute, but {name!r} is {kind}")
        return place

    def _text(self, name: str, example: str) -> str | None:
        """Value of a constant text argument; None if the argument is omitted."""
        node = self._given.get(name)
        if node is None:
            return None
        value = self._binder.expressions(Scope(), self._name).bind(node)
        if not isinstance(value, ValueLiteral) or not isinstance(value.value, str):
            raise self._refusal(node, f"{name} must be a constant text: {example}")
        return value.value

    def _mapping(self, default: Sequence[tuple[str, str]]) -> Iterator[tuple[exp.Expr, str, str]]:
        """Keys and values of op_mapping, each with the syntax node that errors show."""
        node = self._given.get("op_mapping")
        if node is None:
            yield from ((self._call, key, value) for key, value in default)
            return
        if not isinstance(node, nodes.MapConstructor) or not node.expressions:
            raise self._refusal(
                node, "op_mapping must be a constant map of texts: op_mapping => MAP['INSERT', 'I']"
            )
        texts = [self._constant(entry) for entry in node.expressions]
        if len(texts) % 2:
            raise self._refusal(node, "op_mapping has a key without a value")
        # a key that is given twice has its last value, as in every map
        places = {texts[place]: place for place in range(0, len(texts), 2)}
        shown = node.expressions
        key_first = self._name == "TO_CHANGELOG"
        for key, place in places.items():
            yield shown[place if key_first else place + 1], key, texts[place + 1]

    def _constant(self, node: exp.Expr) -> str:
        value = self._binder.expressions(Scope(), self._name).bind(node)
        if not isinstance(value, ValueLiteral) or not isinstance(value.value, str):
            raise self._refusal(node, "keys and values of op_mapping must be constant texts")
        return value.value

    def _operation(self, node: exp.Expr, name: str, seen: set[str]) -> str:
        """Name of a change operation; refused if it is unknown or has already been seen."""
        if name not in OPERATIONS:
            raise self._refusal(
                node,
                f"Unknown change operation: {name!r}. Valid values are: {', '.join(OPERATIONS)}",
            )
        if name in seen:
            raise self._refusal(
                node,
                f"Duplicate change operation: {name!r}. Use comma-separated "
                f"{'codes' if self._name == 'FROM_CHANGELOG' else 'names'} to map several to one",
            )
        seen.add(name)
        return name

    def _kept(self) -> tuple[int, ...] | None:
        """Positions of the columns that rows for deletes keep; None if they keep all."""
        node = self._given.get("produces_full_deletes")
        if node is None:
            return None
        value = self._binder.expressions(Scope(), self._name).bind(node)
        if not isinstance(value, ValueLiteral) or not isinstance(value.value, bool):
            raise self._refusal(node, "produces_full_deletes must be TRUE or FALSE")
        if value.value:
            return None
        keys = sorted((tuple(sorted(key)) for key in upsert_keys(self._rows)), key=_smallest)
        if not keys and not self._partition:
            raise self._refusal(
                node,
                "produces_full_deletes => FALSE: the input has no upsert key and the call has no "
                "PARTITION BY, so there are no columns that tell which row is deleted",
            )
        return keys[0] if keys else ()

    def _named(self, made: ToChangelog | FromChangelog, op: str | None) -> RelNode:
        """The node with names for its columns, made unique where two are equal."""
        fields = self._rows.row_type.names
        wanted = [op or "" if index is None else fields[index] for index in made.order]
        if self._time is not None:
            wanted[-1] = "rowtime"
        return self._binder.context.placed(
            replace(made, names=tuple(unique_names(wanted))), self._call
        )


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _smallest(key: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(key), key
