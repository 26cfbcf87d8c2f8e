"""A table that is drawn in place never shows half of an update."""

from __future__ import annotations

import io
import re

import pytest

from millrace.cli.sql_client import result_display
from millrace.cli.sql_client.result_display import show_table
from millrace.common.types.logical.logical_type import BigIntType, RowType
from millrace.common.types.row import Row, RowKind
from millrace.table.table_result import TableResult


class Screen(io.StringIO):
    """Takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_updates_are_drawn_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_display, "REDRAW_SECONDS", 0)
    screen = Screen()
    changes = [
        Row.of_kind(RowKind.INSERT, 2),
        Row.of_kind(RowKind.UPDATE_BEFORE, 2),
        Row.of_kind(RowKind.UPDATE_AFTER, 3),
    ]
    show_table(TableResult(RowType.of(("c", BigIntType())), rows=changes), "UTC", screen)
    pictures = re.split(r"\x1b\[\d+A\x1b\[J", screen.getvalue())
    assert len(pictures) > 2
    assert not any("0 rows" in picture for picture in pictures)
    assert pictures[-1] == "+---+\n| c |\n+---+\n| 3 |\n+---+\n1 row in set\n"


def test_of_too_many_rows_the_oldest_are_left_out_and_counted() -> None:
    output = io.StringIO()
    rows = [Row.of_kind(RowKind.INSERT, number) for number in range(5)]
    show_table(TableResult(RowType.of(("c", BigIntType())), rows=rows), "UTC", output, most=3)
    *lines, warning = output.getvalue().splitlines()
    assert [line for line in lines if line[2:3].isdigit()] == ["| 2 |", "| 3 |", "| 4 |"]
    option = "sql-client.execution.max-table-result.rows"
    assert warning == f"[WARNING] 2 older rows were left out: {option} is 3"
