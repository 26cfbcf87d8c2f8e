"""Plans of millrace as values that can be compared: a program of the Table API and its twin in SQL
have equal ones.

A plan is the optimised tree with all its types. Names of columns within it and places in a text
decide nothing, so they are left out, as is a projection that only gives names, and the name that a
function is called by; a table is what it is made of, not what it is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from types import FunctionType
from typing import Any
from unittest import mock

from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import FieldReference
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.relational.rel_node import Project, RelNode, TableScan
from millrace.table import Table
from millrace.table.table_session import TableSession

_NAMES = {"name", "names", "declared", "rank_name", "properties", "place"}
_WITHOUT_A_NAME = re.compile(r"(_c|EXPR\$)\d+")


@dataclass
class Plans:
    """What a program makes.

    Attributes:
        trees: of each query and insert that was planned, in their order.
        columns: names and types of the table it gives; empty: it gives none. Columns that the
            program gives no name have none, since the layers call them ``_c0`` or ``EXPR$0``.
        error: why it ended.
    """

    trees: list[Any] = field(default_factory=list)
    columns: list[tuple[str, str]] = field(default_factory=list)
    error: Exception | None = None


def plans_of(run: Callable[[], Any]) -> Plans:
    """The plans that are made while ``run`` runs, and that of the table it returns."""
    made = Plans()
    with _recorded(made.trees):
        try:
            found = run()
            if isinstance(found, Table):
                made.columns = [
                    (_WITHOUT_A_NAME.sub("", each.name), str(each.type))
                    for each in found.node.row_type.fields
                ]
                found.explain()
        except Exception as error:
            made.error = error
    return made


@contextmanager
def _recorded(trees: list[Any]) -> Iterator[None]:
    original = TableSession.optimized

    def optimized(session: TableSession, nodes: Any) -> list[RelNode]:
        roots = original(session, nodes)
        trees.extend(map(_shape, roots))
        return roots

    with mock.patch.object(TableSession, "optimized", optimized):
        yield


def _shape(value: Any) -> Any:
    if isinstance(value, Project) and _only_names(value):
        return _shape(value.input)
    if isinstance(value, LogicalType):
        return str(value)
    if isinstance(value, FunctionDefinition):
        return value.kind, _body(value.kernel)
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *_parts(value))
    if isinstance(value, tuple | list):
        return tuple(map(_shape, value))
    return value


def _only_names(node: Project) -> bool:
    same = (
        isinstance(each, FieldReference) and each.index == index
        for index, each in enumerate(node.expressions)
    )
    return len(node.expressions) == len(node.input.row_type) and all(same)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    is_node = isinstance(value, RelNode)
    without = set(_NAMES)
    if isinstance(value, TableScan | ResolvedTable):
        without.add("path")
    if isinstance(getattr(value, "payload", None), FunctionDefinition):
        without.add("function")
    for each in fields(value):
        if each.name not in without and (is_node or each.compare):
            part = getattr(value, each.name)
            if is_node and isinstance(part, RowType) and not isinstance(value, TableScan):
                part = tuple(column.type for column in part.fields)
            yield each.name, _shape(part)


def _body(value: Any) -> Any:
    """A function of the user, and what stands around it."""
    if isinstance(value, FunctionType | type) or not hasattr(value, "__dict__"):
        return repr(value)
    attributes = sorted(vars(value).items())
    inner = [(name, _body(each)) for name, each in attributes if name.strip("_") != "name"]
    return type(value).__name__, inner
