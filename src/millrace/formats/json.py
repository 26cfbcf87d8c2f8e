"""JSON lines, a value per line: reading and writing. Flink docs: "JSON format"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from math import isfinite
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import Encoder
from millrace.common.types.row import Row
from millrace.formats.charset import decode_text
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.stream_format import LineFormat

__all__ = ["JsonLinesEncoder", "JsonLinesFormat"]

_DECODER = json.JSONDecoder()


class JsonLinesFormat(LineFormat[Any]):
    """Each line is a JSON value, usually an object, which becomes a dict. Empty lines are skipped.

    >>> JsonLinesFormat().decode([b'{"a": 1}\\n', b"\\n", b"[2, 3]"])
    [{'a': 1}, [2, 3]]
    """

    def decode(self, lines: list[bytes]) -> list[Any]:
        texts = [text.strip() for text in decode_text(b"".join(lines), "utf-8").split("\n")]
        texts = list(filter(None, texts))
        try:
            parsed = list(map(_DECODER.raw_decode, texts))
        except json.JSONDecodeError as error:
            reason = f"broken JSON: {error.msg}"
            raise MalformedRecordError(reason, error.doc.encode(), column=error.pos + 1) from None
        except RecursionError:
            raise MalformedRecordError("JSON that is nested too deeply") from None
        except ValueError as error:  # a number of thousands of digits
            raise MalformedRecordError(f"broken JSON: {error}") from None
        for text, (_, end) in zip(texts, parsed, strict=True):
            if end != len(text):
                reason = "more than one JSON value in a line"
                raise MalformedRecordError(reason, text.encode(), column=end + 1)
        return [value for value, _ in parsed]


class JsonLinesEncoder(Encoder[Any]):
    """Writes each value as a line of JSON in UTF-8.

    A `Row` becomes an object (a list if it has no names), dates and times their ISO text, a
    ``Decimal`` its text. JSON has no NaN and no infinity: they are refused, or written as null.
    (Jackson writes them as texts, so that a column of numbers has texts in it.)

    Args:
        nan_as_null: write null for NaN and infinities.

    >>> JsonLinesEncoder().encode_all([{"a": 1}, [2, None]])
    b'{"a": 1}\\n[2, null]\\n'
    """

    def __init__(self, nan_as_null: bool = False) -> None:
        self._nan_as_null = nan_as_null

    def encode(self, element: Any) -> bytes:
        return self.encode_all([element])

    def encode_all(self, elements: Sequence[Any]) -> bytes:
        """The lines of many values.

        Raises:
            SerializationError: a value has no form in JSON.
        """
        try:
            return "".join([line + "\n" for line in map(_ENCODER.encode, elements)]).encode()
        except RecursionError:
            raise SerializationError("a value that contains itself has no form in JSON") from None
        except ValueError as error:
            return self._encode_one_by_one(elements, error)

    def _encode_one_by_one(self, elements: Sequence[Any], error: ValueError) -> bytes:
        """There is a NaN in these, or a number or text that cannot be written."""
        if self._nan_as_null:
            elements = [_without_nan(element) for element in elements]
        for element in elements:
            try:
                _ENCODER.encode(element).encode()
            except ValueError as reason:
                shown = repr(element) if not _is_huge(reason) else "a value"
                raise SerializationError(
                    f"{shown[:500]} has no form in JSON: {reason}. Replace the value; NaN and "
                    "infinities are written as null by JsonLinesEncoder(nan_as_null=True)"
                ) from error
        return self.encode_all(elements)


def _is_huge(reason: ValueError) -> bool:
    """Whether a whole number is too long for its own text, which no message can have either."""
    return "integer string conversion" in str(reason)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Row) and value._fields is not None:
        value = value.as_dict()
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return list(map(_without_nan, value)) if isinstance(value, (list, tuple, Row)) else value


def _json_form(value: Any) -> Any:
    if isinstance(value, Row):
        return list(value) if value._fields is None else value.as_dict()
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise SerializationError(
        f"a {type(value).__name__} has no form in JSON: {value!r}. Map it to a str, number, list "
        "or dict first"
    )


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, default=_json_form
)
