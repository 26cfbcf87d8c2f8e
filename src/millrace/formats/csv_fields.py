"""Conversion of CSV fields to values and back, a column at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types.logical.fitted_decimal import decimal_fitter
from millrace.common.types.logical.logical_type import DecimalType
from millrace.common.types.type_information import TypeInformation
from millrace.formats.csv_schema import CsvColumn, CsvColumnKind, CsvDialect, CsvSchema
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.scalar_text import scalar_text

__all__ = ["csv_options", "fields_of", "parse_columns"]

Parser = Callable[[str], Any]
_SHOWN = 100
_BOOLEANS = {"true": True, "false": False}

_NUMBER_PARSERS: dict[str, Parser] = {
    "BYTE": int,
    "SHORT": int,
    "INT": int,
    "LONG": int,
    "BIG_INT": int,
    "FLOAT": float,
    "DOUBLE": float,
    "BIG_DEC": Decimal,
}


def parse_columns(
    schema: CsvSchema, indices: Sequence[int], width: int, rows: list[list[str]]
) -> list[Sequence[Any]]:
    """Parsed values of the schema's columns. ``indices`` tells at which of the rows' fields each
    column is.

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
    parse = _parser(column)
    try:
        if column.kind is CsvColumnKind.NUMBER and "_" in "".join(texts):
            parse = _without_underscores(parse)
        if "" not in texts and null not in texts:
            return list(map(parse, texts))
        return [None if text in ("", null) else parse(text) for text in texts]
    except (ValueError, ArithmeticError):
        reason = _explain(column, texts, null, parse)
        raise MalformedRecordError(reason, column=column.name) from None


def _explain(column: CsvColumn, texts: Sequence[str], null: str | None, parse: Parser) -> str:
    for text in texts:
        try:
            if text not in ("", null):
                parse(text)
        except (ValueError, ArithmeticError):
            break
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    hint = "" if null else f"; if it stands for no value, set_null_value({text!r})"
    return f"column {column.name!r}: {text!r} is not a {column.kind.value}{hint}"


def _without_underscores(parse: Parser) -> Parser:
    """The parser without underscores in numbers: Python accepts 1_000, other systems do not."""

    def strict(text: str) -> Any:
        if "_" in text:
            raise ValueError(text)
        return parse(text)

    return strict


def _parser(column: CsvColumn) -> Parser:
    if column.kind is CsvColumnKind.BOOLEAN:
        return _parse_boolean
    if column.kind is CsvColumnKind.ARRAY:
        parse = scalar_text(column.type_info).read if column.type_info else str
        separator = column.separator
        if not separator:
            return lambda text: [parse(text)]
        return lambda text: [parse(element) for element in text.split(separator)]
    return _number_parser(column.type_info, column.decimal)


def _number_parser(
    type_info: TypeInformation[Any] | None, decimal: DecimalType | None = None
) -> Parser:
    parse = _NUMBER_PARSERS.get(type_info.name, str) if type_info else str
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
