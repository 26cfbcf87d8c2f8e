"""Jackson-compatible JSON: numbers with their written digits, and control characters within texts.
An object in which a key comes twice has the last value.

Flink: ``AbstractJsonDeserializationSchema``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from millrace.expressions.json_document import (
    json_document,
    parsed_document,
    quoted,
    well_formed,
)

__all__ = ["FractionNumber", "JsonNumber", "parse_json", "tree_text"]

_EXACT = Context(prec=1_000)


class JsonNumber(str):
    """Digits of a number."""

    __slots__ = ()


class FractionNumber(JsonNumber):
    """Digits of a number with a point or an exponent."""

    __slots__ = ()


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    strict=False,
    parse_int=JsonNumber,
    parse_float=FractionNumber,
    parse_constant=_refused,
)


def parse_json(message: bytes) -> Any:
    """Value of a message: dicts, lists, texts, `JsonNumber`, booleans and None.

    Example:
        >>> parse_json(b'{"a": 1e3}')
        {'a': '1e3'}

    Raises:
        ValueError: the message is not JSON, or nests objects and arrays more than 1,000 deep.
    """
    text = message.decode(json.detect_encoding(message), "surrogatepass")
    return parsed_document(text, _DECODER)


def tree_text(value: Any, has_decimals: bool) -> str:
    """Text of an object or array, as printed by Jackson's trees.

    Args:
        has_decimals: whether a column of the row is a decimal, so that fractions are read as
            decimals instead of doubles.

    Example:
        >>> tree_text(parse_json(b'{"a": [2.50, 1e3, "x"]}'), False)
        '{"a":[2.5,1000.0,"x"]}'
    """
    fraction = _decimal_text if has_decimals else _double_text
    return well_formed(json_document(value, lambda item: _scalar_text(item, fraction)))


def _scalar_text(value: Any, fraction: Callable[[str], str]) -> str:
    if isinstance(value, FractionNumber):
        return fraction(value)
    if isinstance(value, JsonNumber):
        return "0" if value == "-0" else str(value)
    if isinstance(value, str):
        return quoted(value)
    return "null" if value is None else "true" if value else "false"


def _double_text(digits: str) -> str:
    from millrace.expressions.casting.text_of import double_text  # which loads pyarrow

    value = float(digits)
    text = double_text(value)
    return text if math.isfinite(value) else quoted(text)


def _decimal_text(digits: str) -> str:
    value = Decimal(digits)
    try:
        return str(_EXACT.normalize(value)) if value else "0"
    except InvalidOperation:
        return str(value)
