"""`CsvSchema`: the columns and the dialect (separators, quotes, header) of CSV files.

The builder has PyFlink's methods. Flink docs: "CSV format".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import DecimalType, LogicalType
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.formats.scalar_text import scalar_text, scalar_type

__all__ = ["CsvColumn", "CsvColumnKind", "CsvSchema", "CsvSchemaBuilder"]


class CsvColumnKind(Enum):
    """The kind of value that the text of a column is parsed as."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """A column of a CSV file."""

    name: str
    kind: CsvColumnKind = CsvColumnKind.STRING
    type_info: TypeInformation[Any] | None = None
    """The type of a number, or of the elements of an array."""
    separator: str = ";"
    """Text between two elements of an array; empty if the whole field is one element."""
    decimal: DecimalType | None = None
    """The type of numbers that are rounded to a scale (``DataTypes.DECIMAL``)."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The syntax of the text: separators, quoting, escaping, header, comments."""

    column_separator: str = ","
    quote_char: str | None = '"'
    escape_char: str | None = None
    line_separator: str = "\n"
    null_value: str | None = None
    use_header: bool = False
    strict_headers: bool = False
    reorder_columns: bool = False
    skip_first_data_row: bool = False
    allow_comments: bool = False


@dataclass(frozen=True, slots=True)
class CsvSchema:
    """The columns and the dialect of CSV files; immutable, built with `CsvSchema.builder`.

    >>> schema = (
    ...     CsvSchema.builder()
    ...     .add_string_column("origin")
    ...     .add_number_column("delay")
    ...     .set_use_header()
    ...     .build()
    ... )
    >>> schema.names, schema.size()
    (('origin', 'delay'), 2)
    """

    columns: tuple[CsvColumn, ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Create a builder without columns; its dialect is comma, double quotes, no header."""
        return CsvSchemaBuilder()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def size(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Builder of `CsvSchema`; each method changes and returns the builder."""

    def __init__(self) -> None:
        self._columns: list[CsvColumn] = []
        self._dialect = CsvDialect()

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of text."""
        return self._add(CsvColumn(name))

    def add_number_column(
        self, name: str, number_type: TypeInformation[Any] | LogicalType | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of numbers (default ``Types.LONG()``, which is ``DataTypes.BIGINT()``);
        an empty field is read as None. Numbers of a ``DataTypes.DECIMAL`` are rounded half up to
        its scale; numbers that exceed its precision are None."""
        checked_type = scalar_type(number_type or Types.LONG())
        decimal = number_type if isinstance(number_type, DecimalType) else None
        return self._add(CsvColumn(name, CsvColumnKind.NUMBER, checked_type, decimal=decimal))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of ``true`` and ``false``; an empty field is read as None."""
        return self._add(CsvColumn(name, CsvColumnKind.BOOLEAN))

    def add_array_column(
        self,
        name: str,
        separator: str = ";",
        element_type: TypeInformation[Any] | LogicalType | None = None,
    ) -> CsvSchemaBuilder:
        """Add a column of lists, whose elements are strings or values of ``element_type``.

        Raises:
            JobDefinitionError: ``element_type`` has no text form that could be parsed.
        """
        checked_type = None if element_type is None else scalar_type(element_type)
        if checked_type is not None:
            scalar_text(checked_type)  # raises if the type is not supported
        return self._add(CsvColumn(name, CsvColumnKind.ARRAY, checked_type, separator))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        for column in schema.columns:
            self._add(column)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns."""
        self._columns.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the character between two fields (default: comma)."""
        return self._set(column_separator=_one_char("column separator", char))

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character around fields with separators or line feeds (default: double quote)."""
        return self._set(quote_char=_one_char("quote character", char))

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Treat quotes as ordinary characters."""
        return self._set(quote_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that makes the next one an ordinary character (default: none)."""
        return self._set(escape_char=_one_char("escape character", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Use no escape character (the default)."""
        return self._set(escape_char=None)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the end of written lines: ``"\\n"`` (default) or ``"\\r\\n"``; both are read."""
        if separator not in ("\n", "\r\n"):
            raise JobDefinitionError(f"{separator!r} cannot end lines: take '\\n' or '\\r\\n'")
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that is read and written for None, for example ``NA``."""
        return self._set(null_value=null_value)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Read and write a header line; columns are matched by position, not by name.

        As in Flink (Jackson), the names in the header may differ from the schema's. Unlike in
        Flink, a header with the schema's names at other positions is an error, since values would
        get wrong names: see `set_reorder_columns`.
        """
        return self._set(use_header=use)

    def set_reorder_columns(self, reorder: bool = True) -> CsvSchemaBuilder:
        """Match columns by name with the header, which may have more columns, in any order.

        Jackson's option of the same name; it needs `set_use_header`.
        """
        return self._set(reorder_columns=reorder)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Require the header to have exactly the schema's names, in the schema's order."""
        return self._set(strict_headers=strict)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skip the first record of each file."""
        return self._set(skip_first_data_row=skip)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skip lines that begin with ``#``."""
        return self._set(allow_comments=allow)

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the separator between the elements of every array column added so far."""
        self._columns = [replace(column, separator=separator) for column in self._columns]
        return self

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Read the whole field as one element, in every array column added so far."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Read the whole field as one element, in the array column at position ``index``.

        Raises:
            JobDefinitionError: there is no such array column.
        """
        if not 0 <= index < len(self._columns):
            raise JobDefinitionError(
                f"there is no column {index}: the schema has {len(self._columns)} so far"
            )
        self._columns[index] = replace(self._columns[index], separator="")
        return self

    def size(self) -> int:
        """Number of columns added so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def build(self) -> CsvSchema:
        """Build the schema.

        Raises:
            JobDefinitionError: the schema has no columns, or two with the same name.
        """
        names = [column.name for column in self._columns]
        if not names:
            raise JobDefinitionError("a CsvSchema needs a column: call add_string_column(name)")
        if len(set(names)) < len(names):
            raise JobDefinitionError(f"a CsvSchema names each column once, not {names}")
        return CsvSchema(tuple(self._columns), self._dialect)

    def _add(self, column: CsvColumn) -> CsvSchemaBuilder:
        self._columns.append(column)
        return self

    def _set(self, **changes: object) -> CsvSchemaBuilder:
        self._dialect = replace(self._dialect, **changes)  # type: ignore[arg-type]
        return self


def _one_char(option: str, char: str) -> str:
    if len(char) != 1:
        raise JobDefinitionError(f"the {option} must be one character, not {char!r}")
    return char
