"""JSON lines, a value per line: reading and writing. Flink docs: "JSON format"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import Encoder
from millrace.common.types.row import Row
from millrace.formats.charset import decode_text
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
            raise SerializationError(f"broken JSON in the line {error.doc!r}: {error}") from None
        for text, (_, end) in zip(texts, parsed, strict=True):
            if end != len(text):
                raise SerializationError(f"more than one JSON value in the line {text!r}")
        return [value for value, _ in parsed]


class JsonLinesEncoder(Encoder[Any]):
    """Writes each value as a line of JSON in UTF-8.

    A `Row` becomes an object (a list if it has no names), dates and times their ISO text, a
    ``Decimal`` its text.

    >>> JsonLinesEncoder().encode_all([{"a": 1}, [2, None]])
    b'{"a": 1}\\n[2, null]\\n'
    """

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


_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=_json_form)
