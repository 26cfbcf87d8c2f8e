"""Encoding of keys and values of tables as bytes, for stores on the local disk.

A row's key is the canonical encoding of the entry's key, plus the details that this encoding leaves
out. So keys share a row if and only if they are equal in Python. If the encoding is not reversible,
the row's value has the key, too. A value with a special encoding begins with a byte that names it;
the first bytes of the codecs are greater.

Only processes on one host use this format: state that must outlive them is in the deltas. Each
change of the format also changes `saved_marker.ROWS`, because with local recovery the next process
may be a newer program.
"""

from __future__ import annotations

import marshal
import pickle
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from millrace.common.errors import KeyTypeError
from millrace.common.types.row import Row
from millrace.state.key_groups import canonical
from millrace.state.serialization.payload import is_plain
from millrace.state.serialization.pickles import dump_pickle

_LEAN = 2
"""marshal without references: faster for small values."""
_WITH_KEY, _PICKLED, _OUTER_KEY_IN_ITS_ROW = 1, 2, 4
"""Bits of a row's first byte, if that is at most `_FLAGS`."""
_FLAGS = _WITH_KEY | _PICKLED | _OUTER_KEY_IN_ITS_ROW
"""Greatest first byte that is not the beginning of a payload."""

_FROM_ROW_KEY: dict[int, Callable[[bytes], Any]] = {
    ord("i"): lambda rest: int(rest, 16),
    ord("s"): lambda rest: rest.decode("utf-8", "surrogatepass"),
    ord("b"): bytes,
}
_REVERSIBLE: frozenset[type] = frozenset({int, str, bytes})
"""Types of keys that can be decoded from their encoding."""
_WHOLE = _REVERSIBLE | {bool, float, type(None)}
"""Types whose canonical encoding leaves no detail out."""
_LENGTH = struct.Struct(">I")


def row_key(key: Any) -> bytes:
    """The encoding of one key.

    Raises:
        KeyTypeError: the key's type has no stable encoding.
    """
    try:
        encoded = canonical(key)
    except KeyTypeError as error:
        raise KeyTypeError(
            f"{error}. State on disk needs it for keys of map state as well; "
            "the state backend 'hashmap' does not"
        ) from None
    left_out = b"" if type(key) in _WHOLE else b"".join(_left_out(key))
    # begins like no part of an encoding does
    return encoded + _sized(b"~" + left_out) if left_out else encoded


def _left_out(key: Any) -> Iterator[bytes]:
    """Yield the details that `canonical` leaves out of a key and its parts, in the order of
    their encoding."""
    if type(key) in _WHOLE:
        return
    if isinstance(key, frozenset):
        pairs = sorted((canonical(part), b"".join(_left_out(part))) for part in key)
        yield from (left_out for _, left_out in pairs)
    elif isinstance(key, tuple):
        for part in key:
            yield from _left_out(part)
    elif type(key) is Row:
        yield _sized(repr((key._fields, key.get_row_kind().name)).encode())
        for part in key:
            yield from _left_out(part)
    elif (isinstance(key, Enum) or is_dataclass(key)) and canonical(key)[:1] in (b"E", b"C"):
        # others are numbers or texts as well, and equal to those
        yield _sized(type(key).__module__.encode())
        for field in () if isinstance(key, Enum) else fields(key):
            if field.compare:
                yield from _left_out(getattr(key, field.name))


def _sized(part: bytes) -> bytes:
    return _LENGTH.pack(len(part)) + part


def check_key(key: Any) -> None:
    """Raise an error if a key has no encoding.

    Raises:
        KeyTypeError: the key's type has no stable encoding.
    """
    if type(key) not in _REVERSIBLE:
        row_key(key)


def row_keys(keys: list[Any], prefix: bytes = b"") -> list[bytes]:
    """The encodings of many keys, each with ``prefix`` in front."""
    kinds = set(map(type, keys))
    if kinds == {int}:
        number = prefix.replace(b"%", b"%%") + b"i%x"
        return [number % key for key in keys]
    if kinds == {str}:
        prefix += b"s"
        return [prefix + key.encode("utf-8", "surrogatepass") for key in keys]
    return [prefix + row_key(key) for key in keys]


def rows_of(keys: list[Any], values: list[Any], outer: tuple[Any, ...] = ()) -> list[bytes]:
    """Encoded rows for the entries with these ``keys`` and ``values``. For entries of a nested
    table, ``outer`` has the outer keys."""
    flag = 0 if set(map(type, outer)) <= _REVERSIBLE else _OUTER_KEY_IN_ITS_ROW
    if set(map(type, keys)) <= _REVERSIBLE:
        return _encoded(values, flag)
    return _encoded(list(zip(keys, values, strict=True)), flag | _WITH_KEY)


def _encoded(values: list[Any], flag: int) -> list[bytes]:
    dumps, version = marshal.dumps, _LEAN
    if is_plain(values):
        with suppress(ValueError):  # deeper than marshal goes
            rows = [dumps(value, version) for value in values]
            return _flagged(rows, flag) if flag else rows
    return _flagged([dump_pickle(value) for value in values], flag | _PICKLED)


def _flagged(rows: list[bytes], flag: int) -> list[bytes]:
    first = bytes((flag,))
    return [first + row for row in rows]


def _decoded(row: bytes) -> tuple[int, Any]:
    """Flag and content of a row."""
    flag = row[0]
    if flag > _FLAGS:
        return 0, marshal.loads(row)
    payload = memoryview(row)[1:]
    return flag, pickle.loads(payload) if flag & _PICKLED else marshal.loads(payload)


def value_in(row: bytes) -> Any:
    """The value in an encoded row."""
    flag, content = _decoded(row)
    return content[1] if flag & _WITH_KEY else content


def entry_in(key: bytes, row: bytes) -> tuple[Any, Any]:
    """Key and value of an encoded row; ``key`` is the encoding of its key."""
    flag, content = _decoded(row)
    if flag & _WITH_KEY:
        return content[0], content[1]
    return key_in(key), content


def key_in(key: bytes) -> Any:
    """Key that an encoding stands for, if the encoding is reversible."""
    return _FROM_ROW_KEY[key[0]](key[1:])


def is_below_reversible(row: bytes) -> bool:
    """Whether the outer key of a row can be decoded from its encoding."""
    return row[0] > _FLAGS or not row[0] & _OUTER_KEY_IN_ITS_ROW
