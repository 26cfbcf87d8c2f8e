"""The address of a state: operator uid and state name, held apart wherever states are named."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OPERATOR_TABLE", "VALVE", "TableId", "operator_value"]


class TableId(NamedTuple):
    """Names one state of one operator. As a key of dicts it is equal to the plain tuple, which is
    what files hold.

    Example:
        >>> TableId("count", "total") == ("count", "total")
        True
        >>> str(TableId("parse/count", "total"))
        'parse/count/total'
    """

    uid: str
    """Of the operator; empty for what belongs to no single one."""
    name: str
    """Of the state; those that operators keep for themselves begin with ``@``."""

    @property
    def internal(self) -> bool:
        """Whether an operator keeps it for itself."""
        return self.name.startswith("@")

    def __str__(self) -> str:
        """For people only: several ids may read alike."""
        return f"{self.uid}/{self.name}"


OPERATOR_TABLE = TableId("", "@operator")
"""The table of the operators' own values; it is never filtered by key group."""
VALVE = ("", "@valve")
"""The entry of that table which is the subtask's own and no operator's: its watermarks."""


def operator_value(uid: str, *name: str) -> tuple[str, ...]:
    """The key of an operator's own value in the `OPERATOR_TABLE`: its uid, and what it is."""
    return (uid, *name)
