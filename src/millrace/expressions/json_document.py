"""Reader and writer of JSON texts that behave as Jackson does, also for JSON nested deeper than
Python's stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["MAX_DEPTH", "json_document", "parsed_document", "quoted", "well_formed"]

MAX_DEPTH = 1_000
"""Deepest nesting of objects and arrays; Jackson's ``StreamReadConstraints``."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"[ \t\n\r]*")
_ESCAPE = re.compile(r"\\(?:\\|u00[01][0-9a-f])")


class _Written(str):
    """A part of the text that has already been written."""

    __slots__ = ()


def json_document(value: Any, scalar: Callable[[Any], str], sort_keys: bool = False) -> str:
    """JSON text of nested dicts and lists, without blanks.

    Args:
        scalar: the text of a value that is neither.
        sort_keys: write members in the order of their keys.

    Example:
        >>> json_document({"b": [1, None], "a": {}}, json.dumps, sort_keys=True)
        '{"a":{},"b":[1,null]}'
    """
    if not isinstance(value, (dict, list)):
        return scalar(value)
    written: list[str] = []
    waiting: list[Any] = [value]  # a stack, for Python's own is too small for deep documents
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Written):
            written.append(item)
        elif isinstance(item, dict):
            _wait_for_members(item, waiting, sort_keys)
        elif isinstance(item, list):
            _wait_for_items(item, waiting)
        else:
            written.append(scalar(item))
    return "".join(written)


def _wait_for_members(members: dict[Any, Any], waiting: list[Any], sort_keys: bool) -> None:
    waiting.append(_Written("}"))
    keys = sorted(members, key=_in_java) if sort_keys else list(members)
    for place, key in zip(range(len(keys) - 1, -1, -1), reversed(keys), strict=True):
        comma = "," if place else ""
        waiting += (members[key], _Written(f"{comma}{quoted(str(key))}:"))
    waiting.append(_Written("{"))


def _in_java(key: Any) -> bytes:
    """Sort key of texts in Java's order, by UTF-16 units."""
    return str(key).encode("utf-16-be", "surrogatepass")


def _wait_for_items(items: list[Any], waiting: list[Any]) -> None:
    waiting.append(_Written("]"))
    for place in range(len(items) - 1, 0, -1):
        waiting += (items[place], _Written(","))
    waiting += items[:1]
    waiting.append(_Written("["))


def quoted(text: str) -> str:
    """A text as a JSON string, with the escapes that Jackson writes.

    >>> print(quoted('a"\\x1f'))
    "a\\"\\u001F"
    """
    made = json.dumps(text, ensure_ascii=False)
    return _ESCAPE.sub(_upper, made) if "\\u00" in made else made


def _upper(escape: re.Match[str]) -> str:
    text = escape[0]
    return text if text == "\\\\" else f"\\u{text[2:].upper()}"


def well_formed(text: str) -> str:
    """The text with ``?`` in place of lone surrogates, as Java writes it.

    >>> well_formed("a\\ud83d")
    'a?'
    """
    return _SURROGATE.sub("?", text) if not text.isascii() else str(text)


def parsed_document(text: str, decoder: json.JSONDecoder) -> Any:
    """The parsed document of a text, also if its nesting is deeper than Python's stack.

    Args:
        decoder: decoder of scalars, with an optional ``object_pairs_hook``.

    Raises:
        ValueError: it is not JSON, or has more than `MAX_DEPTH` objects and arrays in each other.
    """
    try:
        return decoder.decode(text)
    except RecursionError:
        return _DeepDocument(text, decoder).value()


class _DeepDocument:
    """Reads a document with a list of the open objects and arrays, instead of recursion."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text, self._decoder = text, decoder
        self._place = 0
        self._open: list[tuple[str, list[Any]]] = []
        """Closing bracket and items of each that is open; an object has keys and values in turn."""

    def value(self) -> Any:
        """Value of the whole text.

        Raises:
            ValueError: it is not JSON, or nested too deep.
        """
        while True:
            complete, value = self._begun()
            while complete:
                if not self._open:
                    if self._next():
                        raise self._wrong("nothing more")
                    return value
                complete, value = self._put(value)

    def _begun(self) -> tuple[bool, Any]:
        """Begin to read the next value: (True, value) if the value is complete, else (False,
        None)."""
        opening = self._next()
        if opening not in ("[", "{"):
            value, self._place = self._decoder.raw_decode(self._text, self._place)
            return True, value
        if len(self._open) == MAX_DEPTH:
            raise ValueError(f"it has more than {MAX_DEPTH:,} objects and arrays in each other")
        self._place += 1
        self._open.append(("]" if opening == "[" else "}", []))
        if self._next() == self._open[-1][0]:
            return True, self._closed()
        self._read_key()
        return False, None

    def _put(self, value: Any) -> tuple[bool, Any]:
        """Add a value to the innermost open object or array. Return (True, its value) if the
        object or array is complete, else (False, None)."""
        closing, items = self._open[-1]
        items.append(value)
        character = self._next()
        if character == closing:
            return True, self._closed()
        if character != ",":
            raise self._wrong(f"',' or {closing!r}")
        self._place += 1
        self._read_key()
        return False, None

    def _closed(self) -> Any:
        self._place += 1
        closing, items = self._open.pop()
        if closing == "]":
            return items
        pairs = list(zip(items[::2], items[1::2], strict=True))
        hook = self._decoder.object_pairs_hook
        return dict(pairs) if hook is None else hook(pairs)

    def _read_key(self) -> None:
        closing, items = self._open[-1]
        if closing == "]":
            return
        if self._next() != '"':
            raise self._wrong("a key")
        key, self._place = self._decoder.raw_decode(self._text, self._place)
        items.append(key)
        if self._next() != ":":
            raise self._wrong("':'")
        self._place += 1

    def _next(self) -> str:
        """The next character that is not blank; empty at the end."""
        match = _BLANKS.match(self._text, self._place)
        assert match is not None
        self._place = match.end()
        return self._text[self._place : self._place + 1]

    def _wrong(self, expected: str) -> ValueError:
        return json.JSONDecodeError(f"Expecting {expected}", self._text, self._place)
