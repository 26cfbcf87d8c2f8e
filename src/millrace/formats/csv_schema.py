"""The columns and the dialect of CSV files, built as in PyFlink. Flink docs: "CSV format"."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.formats.scalar_text import scalar_text

__all__ = ["CsvColumn", "CsvColumnKind", "CsvSchema", "CsvSchemaBuilder"]


class CsvColumnKind(Enum):
    """What the text of a column stands for."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """One column; ``type_info`` is that of a number or of an array's elements."""

    name: str
    kind: CsvColumnKind = CsvColumnKind.STRING
    type_info: TypeInformation[Any] | None = None
    separator: str = ";"


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How records are written as text."""

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
    """Columns and dialect; immutable, made by `CsvSchema.builder`.

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
        """A builder without columns: comma, double quotes, no header."""
        return CsvSchemaBuilder()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in their order."""
        return tuple(column.name for column in self.columns)

    def size(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Collects columns and dialect; each method returns the builder."""

    def __init__(self) -> None:
        self._columns: list[CsvColumn] = []
        self._dialect = CsvDialect()

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of text."""
        return self._add(CsvColumn(name))

    def add_number_column(
        self, name: str, number_type: TypeInformation[Any] | None = None
    ) -> CsvSchemaBuilder:
        """A column of numbers (default ``Types.LONG()``); an empty field is None."""
        return self._add(CsvColumn(name, CsvColumnKind.NUMBER, number_type or Types.LONG()))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of ``true`` and ``false``; an empty field is None."""
        return self._add(CsvColumn(name, CsvColumnKind.BOOLEAN))

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation[Any] | None = None
    ) -> CsvSchemaBuilder:
        """A column of lists; elements are texts, or of ``element_type``.

        Raises:
            JobDefinitionError: values of this type cannot be read from a text.
        """
        if element_type is not None:
            scalar_text(element_type)
        return self._add(CsvColumn(name, CsvColumnKind.ARRAY, element_type, separator))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """The columns of another schema."""
        for column in schema.columns:
            self._add(column)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        self._columns.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """What stands between fields (default comma)."""
        return self._set(column_separator=_one_char("column separator", char))

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """What encloses fields that contain separators or line feeds (default double quote)."""
        return self._set(quote_char=_one_char("quote character", char))

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Take quotes as text."""
        return self._set(quote_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """What takes the meaning from the character after it (default: none)."""
        return self._set(escape_char=_one_char("escape character", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No escape character."""
        return self._set(escape_char=None)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """What writers end records with: ``"\\n"`` (default) or ``"\\r\\n"``; readers take both."""
        if separator not in ("\n", "\r\n"):
            raise JobDefinitionError(f"{separator!r} cannot end lines: take '\\n' or '\\r\\n'")
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text that stands for None, for example ``NA``."""
        return self._set(null_value=null_value)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first line is no record; columns are taken by position.

        As in Flink (Jackson), the names in it need not be the schema's. Unlike there, a header that
        has the schema's names at other positions is refused, since values would get wrong names:
        see `set_reorder_columns`.
        """
        return self._set(use_header=use)

    def set_reorder_columns(self, reorder: bool = True) -> CsvSchemaBuilder:
        """Take columns by the names in the header: they may be more and in another order.

        Jackson's option of this name; takes effect with `set_use_header`.
        """
        return self._set(reorder_columns=reorder)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """The header must name exactly the schema's columns in their order."""
        return self._set(strict_headers=strict)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Ignore the first record."""
        return self._set(skip_first_data_row=skip)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Ignore lines that begin with ``#``."""
        return self._set(allow_comments=allow)

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """What stands between the elements of all array columns added so far."""
        self._columns = [replace(column, separator=separator) for column in self._columns]
        return self

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Take the fields of all array columns added so far as one element each."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Take the field of the array column at this position as one element.

        Raises:
            JobDefinitionError: there is no such column.
        """
        if not 0 <= index < len(self._columns):
            raise JobDefinitionError(
                f"there is no column {index}: the schema has {len(self._columns)} so far"
            )
        self._columns[index] = replace(self._columns[index], separator="")
        return self

    def size(self) -> int:
        """The number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def build(self) -> CsvSchema:
        """The schema.

        Raises:
            JobDefinitionError: it has no columns, or two of the same name.
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


def _one_char(what: str, char: str) -> str:
    if len(char) != 1:
        raise JobDefinitionError(f"the {what} must be one character, not {char!r}")
    return char
