"""Conversion of CSV fields to values and back, a column at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from millrace.common.types.logical.fitted_decimal import decimal_fitter
from millrace.common.types.logical.logical_type import DecimalType
from millrace.common.types.type_information import TypeInformation
from millrace.formats.csv_schema import CsvColumn, CsvColumnKind, CsvDialect, CsvSchema
from millrace.formats.csv_texts import text_reader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.scalar_text import scalar_text

__all__ = ["csv_options", "fields_of", "most_of", "parse_columns", "require_range"]

Parser = Callable[[str], Any]
_SHOWN = 100
_BOOLEANS = {"true": True, "false": False}

_AS_PYTHON = b"+-.0123456789Ee"
"""Characters of numbers that Python and Java read alike."""
_PYTHONS: dict[str, Parser] = {
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), int),
    **dict.fromkeys(("FLOAT", "DOUBLE"), float),
    "BIG_DEC": Decimal,
}
"""Python's parsers of numbers, which are faster than `text_reader`."""
_MOST = {"BYTE": 1 << 7, "SHORT": 1 << 15, "INT": 1 << 31, "LONG": 1 << 63}


def parse_columns(
    schema: CsvSchema, indices: Sequence[int], width: int, rows: list[list[str]]
) -> list[Sequence[Any]]:
    """Parsed values of the schema's columns. ``indices`` has the position of each column among the
    fields of a row.

    Raises:
        MalformedRecordError: a row has not ``width`` fields, or a field cannot be read.
    """
    if not rows:
        return [()] * schema.size()
    try:
        fields = list(zip(*rows, strict=True))
    except ValueError:
        fields = []
    if len(fields) != width:
        wrong = next(row for row in rows if len(row) != width)
        raise MalformedRecordError(f"a record has {fields_of(wrong)}, not {width}")
    null = schema.dialect.null_value
    return [
        _parse_column(column, fields[index], null)
        for column, index in zip(schema.columns, indices, strict=True)
    ]


def fields_of(row: Sequence[object]) -> str:
    """Text for the number of fields in a row."""
    return f"{len(row)} field{'' if len(row) == 1 else 's'}"


def _parse_column(column: CsvColumn, texts: Sequence[str], null: str | None) -> Sequence[Any]:
    if column.kind is CsvColumnKind.STRING:
        return texts if null is None else [None if text == null else text for text in texts]
    if (
        column.kind is CsvColumnKind.BOOLEAN
        and null not in _BOOLEANS
        and _BOOLEANS.keys() >= {*texts}
    ):
        return [_BOOLEANS[text] for text in texts]
    none = {"", null}
    given = texts if none.isdisjoint(texts) else [text for text in texts if text not in none]
    try:
        values = _values(column, given)
    except (ValueError, ArithmeticError):
        raise MalformedRecordError(_explain(column, given, null), column=column.name) from None
    if given is texts:
        return values
    following = iter(values)
    return [None if text in none else next(following) for text in texts]


def _values(column: CsvColumn, texts: Sequence[str]) -> list[Any]:
    """Values of texts that are not None."""
    if column.kind is CsvColumnKind.NUMBER and column.type_info is not None:
        name = column.type_info.name
        if name in _PYTHONS and not "".join(texts).encode().translate(None, _AS_PYTHON):
            values = list(map(_fitted(_PYTHONS[name], column.decimal), texts))
            with suppress(OverflowError):  # the careful parser finds the text
                require_range(column, values)
                return values
    return list(map(_parser(column), texts))


def most_of(column: CsvColumn) -> int | None:
    """The first whole number beyond a column's type, or that of its elements; None if the type has
    no such number."""
    return _MOST.get(column.type_info.name) if column.type_info else None


def require_range(column: CsvColumn, numbers: Sequence[int]) -> None:
    """Check that whole numbers fit into the column's type, or that of its elements.

    Raises:
        OverflowError: one of them does not.
    """
    most = most_of(column)
    if most is None or not numbers:
        return
    for number in min(numbers), max(numbers):
        if not -most <= number < most:
            raise OverflowError(f"{number} does not fit into {most.bit_length()} bits")


def _explain(column: CsvColumn, texts: Sequence[str], null: str | None) -> str:
    parse = _parser(column)
    for text in texts:
        try:
            parse(text)
        except OverflowError as error:
            return f"column {column.name!r}: {error}"
        except (ValueError, ArithmeticError):
            break
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    hint = "" if null else f"; if it stands for no value, set_null_value({text!r})"
    return f"column {column.name!r}: {text!r} is not a {column.kind.value}{hint}"


def _parser(column: CsvColumn) -> Parser:
    if column.kind is CsvColumnKind.BOOLEAN:
        return _parse_boolean
    if column.kind is CsvColumnKind.ARRAY:
        parse = _element_parser(column.type_info)
        separator = column.separator
        if not separator:
            return lambda text: [parse(text)]
        return lambda text: [parse(element) for element in text.split(separator)]
    if column.type_info is None or column.type_info.name not in _PYTHONS:
        return str
    return _fitted(_element_parser(column.type_info), column.decimal)


def _element_parser(type_info: TypeInformation[Any] | None) -> Parser:
    if type_info is None:
        return str
    is_number = type_info.name in _PYTHONS
    return (text_reader(type_info) if is_number else None) or scalar_text(type_info).read


def _fitted(parse: Parser, decimal: DecimalType | None) -> Parser:
    if decimal is None:
        return parse
    fitted = decimal_fitter(decimal)
    return lambda text: fitted(parse(text))


def _parse_boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS[text.lower()]


def csv_options(dialect: CsvDialect) -> dict[str, Any]:
    """The dialect as options of the standard library's `csv` module."""
    return {
        "delimiter": dialect.column_separator,
        "quotechar": dialect.quote_char,
        "escapechar": dialect.escape_char,
        "quoting": csv.QUOTE_NONE if dialect.quote_char is None else csv.QUOTE_MINIMAL,
        "strict": True,
    }
