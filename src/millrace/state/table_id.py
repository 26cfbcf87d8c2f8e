"""Address of a state: operator uid and state name, which always stay separate."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OPERATOR_TABLE", "VALVE", "TableId", "operator_value"]


class TableId(NamedTuple):
    """Names one state of one operator. As a dict key, it is equal to the plain tuple, which is its
    form in files.

    Example:
        >>> TableId("count", "total") == ("count", "total")
        True
        >>> str(TableId("parse/count", "total"))
        'parse/count/total'
    """

    uid: str
    """Uid of the operator; empty if the state does not belong to a single operator."""
    name: str
    """Name of the state; internal names begin with ``@``."""

    @property
    def internal(self) -> bool:
        """Whether the table is internal to its operator."""
        return self.name.startswith("@")

    def __str__(self) -> str:
        """Display form, which is not unique."""
        return f"{self.uid}/{self.name}"


OPERATOR_TABLE = TableId("", "@operator")
"""The table of the operators' own values; it is never filtered by key group."""
VALVE = ("", "@valve")
"""Key, in `OPERATOR_TABLE`, of the subtask's own entry, which belongs to no operator: the
watermarks."""


def operator_value(uid: str, *name: str) -> tuple[str, ...]:
    """Key of an operator's own value in the `OPERATOR_TABLE`: its uid and the value's name."""
    return (uid, *name)
