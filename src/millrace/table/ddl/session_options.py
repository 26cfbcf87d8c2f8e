"""SET and RESET of the session's options."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.sql.statements import ResetOption, SetOption
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["reset_option", "set_option"]


def set_option(session: TableSession, statement: SetOption) -> TableResult:
    """SET; without a key, the list of all set options."""
    if statement.key is None:
        row_type = RowType.of(("key", VarCharType()), ("value", VarCharType()))
        return TableResult.of_rows(row_type, list(session.config.to_dict().items()))
    session.config.set(statement.key, statement.value or "")
    return TableResult.ok()


def reset_option(session: TableSession, statement: ResetOption) -> TableResult:
    """RESET of one option; without a key, of all options."""
    session.config.reset(statement.key)
    return TableResult.ok()
