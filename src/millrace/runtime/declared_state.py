"""Declared operator state, for the operator that declared it."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import StateError
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.operator_table import OperatorTable
from millrace.state.table_id import TableId, operator_value

__all__ = ["DeclaredValue", "declared_table"]


class DeclaredValue:
    """A declared state of one value, or of one value per source split (``entry``).

    Raises:
        StateError: the operator has not declared the state.
    """

    def __init__(self, operator: Operator, declaration: OperatorStateDeclaration) -> None:
        _check(operator, declaration)
        context = operator.context
        self._table = context.state.operator_table()
        self._uid = context.uid
        self._name = declaration.name

    def get(self, default: Any = None, *entry: str) -> Any:
        """The value. The caller must not change it in place."""
        return self._table.data.get(operator_value(self._uid, self._name, *entry), default)

    def put(self, value: Any, *entry: str) -> None:
        """Set the value. An unchanged value is not written again."""
        key = operator_value(self._uid, self._name, *entry)
        if key not in self._table.data or self._table.data[key] != value:
            self._table.put(key, value)

    def remove(self, *entry: str) -> None:
        """Remove the value, if there is one."""
        self._table.remove(operator_value(self._uid, self._name, *entry))


def declared_table(operator: Operator, declaration: OperatorStateDeclaration) -> OperatorTable:
    """Table of a declared list or map. Places in a list are pairs of subtask and number.

    Raises:
        StateError: the operator has not declared the state.
    """
    _check(operator, declaration)
    context = operator.context
    name = TableId(context.uid, declaration.name)
    table: OperatorTable = context.state.table(name, declaration.table_kind)
    return table


def _check(operator: Operator, declaration: OperatorStateDeclaration) -> None:
    if declaration not in operator.operator_states:
        raise StateError(
            f"operator '{operator.context.name}' uses state '{declaration.name}' without declaring "
            "how it is redistributed; name it in operator_states"
        )
