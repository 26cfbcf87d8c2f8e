"""Display of a query's rows in the result modes of Flink's client."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from millrace.common.types.row import Row, RowKind
from millrace.table.materialized_rows import MaterializedRows
from millrace.table.table_result import TableResult
from millrace.table.tableau import tableau
from millrace.table.values import cells

__all__ = ["MAX_ROWS", "RESULT_MODES", "show_table"]

RESULT_MODES = ("table", "changelog", "tableau")
MAX_ROWS = "sql-client.execution.max-table-result.rows"
REDRAW_SECONDS = 0.2


def show_table(
    result: TableResult, time_zone: str, output: TextIO, most: int | None = None
) -> None:
    """Show the current rows, drawn again in place whenever they change.

    Where the output is no terminal, those of the end. Ctrl-C leaves the last state on the screen.

    Args:
        most: rows that are kept; of more the oldest are left out, which is said. None: all.
    """
    types = result.get_table_schema().to_row_data_type()

    def lines(rows: list[Row]) -> Iterator[str]:
        texts = [
            [
                cells([value], field.type, time_zone)[0]
                for value, field in zip(row, types.fields, strict=True)
            ]
            for row in rows
        ]
        return tableau(list(types.names), texts)

    live = _LivePicture(output, lines) if output.isatty() else None
    rows = MaterializedRows(most)
    try:
        for row in result.collect():
            rows.add(row)
            # between both halves of an update the table is not what it ever was
            if live is not None and row.get_row_kind() is not RowKind.UPDATE_BEFORE:
                live.draw(rows)
    finally:
        if live is not None:
            live.erase()
        for line in lines(list(rows)):
            print(line, file=output)
        if rows.let_go:
            print(
                f"[WARNING] {rows.let_go:,} older rows were left out: {MAX_ROWS} is {most:,}",
                file=output,
            )


class _LivePicture:
    """The last rows of a table, drawn at the bottom of a terminal."""

    def __init__(self, output: TextIO, lines: Callable[[list[Row]], Iterator[str]]) -> None:
        self._output = output
        self._lines = lines
        self._height = 0
        self._drawn = 0.0

    def draw(self, rows: MaterializedRows) -> None:
        """Draw the rows, unless they were drawn a moment ago."""
        if time.monotonic() - self._drawn < REDRAW_SECONDS:
            return
        size = shutil.get_terminal_size()
        shown = [*self._lines(rows.last(max(1, size.lines - 6)))][:-1]
        self.erase()
        for line in [*shown, f"{len(rows)} rows so far; Ctrl-C ends the query"]:
            self._output.write(line[: size.columns - 1] + "\n")
            self._height += 1
        self._output.flush()
        self._drawn = time.monotonic()

    def erase(self) -> None:
        """Erase the rows."""
        if self._height:
            self._output.write(f"\x1b[{self._height}A\x1b[J")
            self._height = 0
