"""JSON lines, one value per line: reading and writing. Flink docs: "JSON format"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from millrace.common.errors import SerializationError
from millrace.common.serialization import Encoder
from millrace.common.types.row import Row
from millrace.formats.charset import decode_text
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.stream_format import LineFormat

__all__ = ["JsonLinesEncoder", "JsonLinesFormat"]

_DECODER = json.JSONDecoder()
_decode_fast = msgspec.json.Decoder().decode
"""Decoder with the same results as `_DECODER`, which refuses NaN, halves of surrogate pairs and
empty lines."""


class JsonLinesFormat(LineFormat[Any]):
    """Reads each line as a JSON value, usually an object, which becomes a dict. Empty lines are
    skipped.

    >>> JsonLinesFormat().decode([b'{"a": 1}\\n', b"\\n", b"[2, 3]"])
    [{'a': 1}, [2, 3]]
    """

    def decode_block(self, block: bytes) -> list[Any]:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            return list(map(_decode_fast, lines))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self.decode([block])

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
        """JSON lines of the values.

        Raises:
            SerializationError: a value has no form in JSON.
        """
        try:
            return _encoded(elements)
        except Exception:
            return self._encode_one_by_one(elements)

    def _encode_one_by_one(self, elements: Sequence[Any]) -> bytes:
        """JSON lines of values that include a NaN or a value that cannot be written."""
        lines = []
        for element in elements:
            replaced = element
            try:
                if self._nan_as_null:
                    replaced = _without_nan(element)
                lines.append(_encoded([replaced]))
            except Exception as error:
                raise SerializationError(_refusal(element, replaced, error)) from None
        return b"".join(lines)


def _encoded(elements: Sequence[Any]) -> bytes:
    return "".join([line + "\n" for line in map(_ENCODER.encode, elements)]).encode()


def _refusal(element: Any, replaced: Any, error: Exception) -> str:
    """Reason why a record is refused, with its path."""
    if isinstance(error, RecursionError):
        return f"{_shown(element)} contains itself, or is nested too deeply, for JSON"
    path, culprit = _culprit(replaced)
    path = path.removeprefix(".")
    where = f"field {path!r} of the record {_shown(element)}" if path else _shown(element)
    hint = "Map it to a str, number, list or dict first"
    if isinstance(culprit, float):
        hint = "Replace it, or have null written by JsonLinesEncoder(nan_as_null=True)"
    return f"{where} has no form in JSON: {error}. {hint}"


def _culprit(value: Any) -> tuple[str, Any]:
    """Path to the innermost part of a value that cannot be written, and that part. The whole
    value must be one that cannot be written."""
    if isinstance(value, Row):
        value = list(value) if value._fields is None else value.as_dict()
    parts: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        parts = [(f".{key}", item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"[{number}]", item) for number, item in enumerate(value)]
    for name, item in parts:
        try:
            _encoded([item])
        except Exception:
            path, culprit = _culprit(item)
            return name + path, culprit
    return "", value


def _shown(value: Any) -> str:
    try:
        return repr(value)[:300]
    except Exception:  # such as a whole number of more digits than Python shows
        return f"a {type(value).__name__}"


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
    raise TypeError(f"it is a {type(value).__name__}")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, default=_json_form
)
