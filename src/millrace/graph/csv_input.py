"""Vertices and edges from CSV files. Gelly: ``GraphCsvReader``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.spark_type import spark_ddl
from millrace.graph.column_type import ColumnType, declared_column_type
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, Vertex
from millrace.graph.inputs import rows_of

__all__ = ["GraphCsvFormat"]


@dataclass(frozen=True, slots=True)
class GraphCsvFormat:
    """Format of the lines of CSV files.

    Args:
        field_delimiter: text between the fields of a line.
        ignore_first_line: whether the first line of a file has the names of the fields.
        ignore_comments: character at the beginning of lines that are left out; None if there are
            no such lines.
        ignore_invalid_lines: whether lines are left out if a field is missing or not of its type.
            If not, they are errors. An empty text is a value.
        quote_character: character around fields that contain the delimiter.
        include_fields: positions of the id and the value, or of source, target and value, among
            the fields of a line, from 0. By default the first fields.
    """

    field_delimiter: str = ","
    ignore_first_line: bool = False
    ignore_comments: str | None = None
    ignore_invalid_lines: bool = False
    quote_character: str = '"'
    include_fields: Sequence[int] | None = None

    def vertices(self, path: str, id_type: Any, value_type: Any) -> DataSet[Vertex[Any, Any]]:
        """The vertices of a file."""
        kinds = _declared(id_type, value_type)
        frame = self._read(path, ("id", "value"), kinds)
        return rows_of(DataSet(frame, tuple, kinds), ("id", "value"), Vertex, "vertices")

    def edges(self, path: str, id_type: Any, value_type: Any) -> DataSet[Edge[Any, Any]]:
        """The edges of a file."""
        kinds = _declared(id_type, id_type, value_type)
        names = ("source", "target", "value")
        frame = self._read(path, names, kinds)
        return rows_of(DataSet(frame, tuple, kinds), names, Edge, "edges")

    def _read(self, path: str, names: Sequence[str], kinds: Sequence[ColumnType]) -> Any:
        from millrace.spark.graphs.csv_files import read_csv

        chosen = list(names[: len(kinds)])
        fields = list(self.include_fields or range(len(chosen)))
        if len(fields) != len(chosen):
            raise JobDefinitionError(
                f"include_fields has {len(fields)} positions for the {len(chosen)} columns "
                f"{', '.join(chosen)}"
            )
        options = {
            "sep": self.field_delimiter,
            "header": self.ignore_first_line,
            "comment": self.ignore_comments or "",
            "quote": self.quote_character,
            "ignoreLeadingWhiteSpace": True,
            "ignoreTrailingWhiteSpace": True,
        }
        types = [spark_ddl(kind.logical_type) for kind in kinds]
        return read_csv(path, chosen, types, fields, options, self.ignore_invalid_lines)


def _declared(*types: Any) -> tuple[ColumnType, ...]:
    """Types of the columns; without the last one if there are no values."""
    return tuple(declared_column_type(kind) for kind in types if kind is not None)
