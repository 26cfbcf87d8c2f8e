"""GROUP BY: its expressions, and the grouping sets of ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

from sqlglot import exp

from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.literals import LiteralError
from millrace.planner.binder.table_functions import PARAMETERS, milliseconds, windowed
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import WindowingStrategy, WindowKind
from millrace.sql.dialect import nodes

__all__ = ["GroupKeys", "bind_grouping_sets", "group_window", "window_property"]

Bind = Callable[[exp.Expr], ResolvedExpression]
LEGACY = {"TUMBLE": ("SIZE",), "HOP": ("SLIDE", "SIZE"), "SESSION": ("GAP",)}
PROPERTIES = {"START": 0, "END": 1, "ROWTIME": 2, "PROCTIME": 2}
"""Column of the window that TUMBLE_START and kin give."""


class GroupKeys:
    """Distinct expressions of GROUP BY in their order, and the grouping sets over them."""

    def __init__(self) -> None:
        self.expressions: list[ResolvedExpression] = []
        self.sets: list[tuple[int, ...]] = [()]

    def position(self, expression: ResolvedExpression) -> int:
        """Position of an expression among the keys; a new expression is added."""
        if expression not in self.expressions:
            self.expressions.append(expression)
        return self.expressions.index(expression)

    def multiply(self, sets: list[tuple[int, ...]]) -> None:
        """Combine each grouping set so far with each set of the next GROUP BY item."""
        pairs = product(self.sets, sets)
        self.sets = [tuple(dict.fromkeys((*one, *two))) for one, two in pairs]


def bind_grouping_sets(node: exp.Group, bind: Bind) -> GroupKeys:
    """The bound keys of GROUP BY, with their grouping sets."""
    keys = GroupKeys()
    for item in node.expressions:
        keys.multiply(_sets(item, keys, bind))
    return keys


def _sets(item: exp.Expr, keys: GroupKeys, bind: Bind) -> list[tuple[int, ...]]:
    if isinstance(item, exp.GroupingSets):
        return [grouping for inner in item.expressions for grouping in _sets(inner, keys, bind)]
    if isinstance(item, exp.Rollup | exp.Cube):
        parts = [_columns(expression, keys, bind) for expression in item.expressions]
        if isinstance(item, exp.Rollup):
            chosen = [tuple(parts[:count]) for count in range(len(parts), -1, -1)]
        else:
            counts = range(len(parts), -1, -1)
            chosen = [combination for count in counts for combination in combinations(parts, count)]
        return [tuple(column for part in combination for column in part) for combination in chosen]
    return [_columns(item, keys, bind)]


def _columns(item: exp.Expr, keys: GroupKeys, bind: Bind) -> tuple[int, ...]:
    if isinstance(item, exp.Tuple):
        return tuple(keys.position(bind(expression)) for expression in item.expressions)
    if isinstance(item, exp.Paren):
        return _columns(item.this, keys, bind)
    return (keys.position(bind(item)),)


def group_window(
    context: BindingContext, node: exp.Group, rows: RelNode, bind: Bind
) -> tuple[RelNode, exp.Expr | None]:
    """The rows with the window columns of ``GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)``, and the
    syntax node of the window.

    Flink's group windows of old are the same as a window table function over the input, grouped by
    its columns.
    """
    calls = [
        expression
        for expression in node.expressions
        if isinstance(expression, nodes.FunctionCall) and expression.name.upper() in LEGACY
    ]
    if not calls:
        return rows, None
    call = calls[0]
    if len(calls) > 1:
        raise context.refusal(calls[1], "GROUP BY allows only one group window")
    name = call.name.upper()
    parameters = LEGACY[name]
    arguments = call.arguments
    if not 1 + len(parameters) <= len(arguments) <= 2 + len(parameters):
        raise context.refusal(call, f"{name} takes (time, {', '.join(parameters)})")
    time = bind(arguments[0])
    if not isinstance(time, FieldReference):
        raise context.refusal(arguments[0], f"{name} takes a time attribute, not an expression")
    try:
        amounts = [milliseconds(context, argument, bind(argument)) for argument in arguments[1:]]
    except LiteralError as error:
        raise context.refusal(call, str(error)) from None
    sizes = dict(zip((*parameters, "OFFSET"), amounts, strict=False))
    partition = []
    if name == "SESSION":
        for key_node in node.expressions:
            key = None if key_node is call else bind(key_node)
            if key is not None and not isinstance(key, FieldReference):
                raise context.refusal(
                    key_node, "GROUP BY with SESSION takes only columns, not expressions"
                )
            if isinstance(key, FieldReference):
                partition.append(key.index)
    window = WindowingStrategy(
        WindowKind[name],
        sizes.get("SIZE", sizes.get("GAP", 0)),
        sizes.get("SLIDE", 0),
        sizes.get("OFFSET", 0),
        tuple(partition),
    )
    assert name in PARAMETERS
    return context.placed(windowed(rows, time.index, window), call), call


def window_property(
    context: BindingContext, node: exp.Expr, call: exp.Expr, rows: RelNode, bind: Bind
) -> ResolvedExpression | None:
    """The window column that a call such as ``TUMBLE_END(ts, INTERVAL '1' HOUR)`` refers to, or
    None.

    Raises:
        SqlValidationError: the call's window is not the window of GROUP BY.
    """
    if not isinstance(node, nodes.FunctionCall):
        return None
    name, _, suffix = node.name.upper().partition("_")
    if name not in LEGACY or suffix not in PROPERTIES:
        return None
    assert isinstance(call, nodes.FunctionCall)
    if name != call.name.upper() or list(map(bind, node.arguments)) != list(
        map(bind, call.arguments)
    ):
        raise context.refusal(
            node,
            f"Call to auxiliary group function '{name}_{suffix}' must have matching call to group "
            f"function '{name}' in GROUP BY clause, with the same arguments",
        )
    return rows.field(len(rows.row_type) - 3 + PROPERTIES[suffix])
