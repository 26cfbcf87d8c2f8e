"""Writers of JSON objects and arrays, composed from the writers of their parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Write", "array_writer", "nullable_writer", "object_text", "quoted", "row_writer"]

Write = Callable[[Any], str]
"""Function from a value to its JSON text."""


def quoted(text: str) -> str:
    """A text as a quoted JSON string."""
    return json.dumps(text, ensure_ascii=False)


def nullable_writer(write: Write) -> Write:
    """A writer that also takes None."""
    return lambda value: "null" if value is None else write(value)


def array_writer(element: Write) -> Write:
    """A writer of arrays whose elements may be None."""
    item = nullable_writer(element)
    return lambda values: f"[{','.join(map(item, values))}]"


def row_writer(names: Sequence[str], fields: Sequence[Write], leaves_nulls_out: bool) -> Write:
    """A writer that writes rows and dicts as objects, with fields that may be None.

    Args:
        fields: writers of the fields, in the order of the names.
        leaves_nulls_out: whether fields without a value are not written.
    """
    keys = [f"{quoted(name)}:" for name in names]

    def write(row: Any) -> str:
        values = map(row.get, names) if isinstance(row, dict) else row
        members = [
            key + ("null" if value is None else field(value))
            for key, field, value in zip(keys, fields, values, strict=True)
            if value is not None or not leaves_nulls_out
        ]
        return f"{{{','.join(members)}}}"

    return write


def object_text(members: Sequence[tuple[str, str]]) -> str:
    """JSON text of an object, from its keys and the JSON texts of its values.

    Example:
        >>> object_text([("a", "1"), ("b", "null")])
        '{"a":1,"b":null}'
    """
    return f"{{{','.join([f'{quoted(key)}:{text}' for key, text in members])}}}"
