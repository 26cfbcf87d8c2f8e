"""Reads marshal's format without marshal, for bytes that may be somebody's attack.

`marshal.loads` believes what it reads: it allocates what a length says, makes code objects and can
crash the interpreter. This reader admits plain builtin data only, checks every length against the
bytes that are there, and bounds the depth and, as references may repeat what they refer to, the
size of what it would be without them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from typing import Any, Final

from millrace.common.errors import SerializationError

__all__ = ["MAX_DEPTH", "check_collisions", "read_plain"]

MAX_DEPTH = 64
"""`payload.encode` gives up on marshal at a depth of 16."""
LEAST_SIZE = 4_000_000
SIZE_PER_BYTE = 256
"""How big the content may be, counted in values, without references: so many per byte."""

MAX_COLLISIONS = 1000

_REF = 0x80
_INT = struct.Struct("<i")
_FLOAT = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")
_DIGIT_BITS = 15
_SINGLES: dict[int, Any] = {ord("N"): None, ord("F"): False, ord("T"): True}
_NULL: Final = ord("0")


def read_plain(data: bytes | memoryview) -> Any:
    """The value that `marshal.dumps` made these bytes of.

    Raises:
        SerializationError: they are damaged, or hold anything but plain builtin data.

    Example:
        >>> import marshal
        >>> read_plain(marshal.dumps({"a": [1, 2.5, None]}))
        {'a': [1, 2.5, None]}
    """
    reader = _Reader(bytes(data))
    try:
        value, _ = reader.value(0)
    except (ValueError, TypeError, OverflowError, struct.error) as error:
        raise SerializationError(f"damaged content ({error})") from error
    if reader.position != len(reader.data):
        raise SerializationError("damaged content (there are bytes after its end)")
    return value


def check_collisions(keys: Collection[Any]) -> None:
    """Refuse keys that were chosen to have equal hashes: a dict of them takes ages.

    Raises:
        ValueError: that is so.
    """
    if len(keys) > MAX_COLLISIONS and len(set(map(hash, keys))) < len(keys) - MAX_COLLISIONS:
        raise ValueError("too many of its keys have the same hash")


class _End:
    """Marks the end of a dict."""


_END = _End()


class _Reader:
    """Where the reading stands. Values come with their size without references."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self._refs: list[tuple[Any, int] | None] = []
        self._left = LEAST_SIZE + SIZE_PER_BYTE * len(data)

    def value(self, depth: int) -> tuple[Any, int]:
        code = self._byte()
        kind = code & ~_REF
        if kind in _SINGLES:
            return _SINGLES[kind], 1
        if kind == ord("r"):
            return self._reference()
        if kind == _NULL and depth:
            return _END, 1
        read = _READERS.get(kind)
        if read is None:
            raise ValueError(f"type {kind:#x} is not plain data")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH}")
        if not code & _REF:
            return read(self, depth)
        # marshal numbers a container before what is in it
        place = len(self._refs)
        self._refs.append(None)
        found = read(self, depth)
        self._refs[place] = found
        return found

    def _reference(self) -> tuple[Any, int]:
        place = self._int()
        found = self._refs[place] if 0 <= place < len(self._refs) else None
        if found is None:
            raise ValueError("a reference to nothing")
        self._spend(found[1])
        return found

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("it repeats itself too often")

    def _byte(self) -> int:
        if self.position >= len(self.data):
            raise ValueError("it ends too early")
        code = self.data[self.position]
        self.position += 1
        return code

    def take(self, length: int) -> bytes:
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise ValueError("it ends too early")
        part = self.data[self.position : end]
        self.position = end
        return part

    def _int(self) -> int:
        number: int = _INT.unpack(self.take(4))[0]
        return number

    def small(self, depth: int) -> tuple[Any, int]:
        return self._int(), 1

    def large(self, depth: int) -> tuple[Any, int]:
        count = self._int()
        digits = struct.unpack(f"<{abs(count)}H", self.take(2 * abs(count)))
        if count and (max(digits) >> _DIGIT_BITS or not digits[-1]):
            raise ValueError("a number that marshal does not write")
        text = "".join([format(digit, "015b") for digit in reversed(digits)])
        number = int(text or "0", 2)
        return (number if count >= 0 else -number), 1

    def real(self, depth: int) -> tuple[Any, int]:
        return _FLOAT.unpack(self.take(8))[0], 1

    def complex_number(self, depth: int) -> tuple[Any, int]:
        return complex(*_COMPLEX.unpack(self.take(16))), 1

    def binary(self, depth: int) -> tuple[Any, int]:
        return self.take(self._int()), 1

    def text(self, depth: int) -> tuple[Any, int]:
        return self.take(self._int()).decode("utf-8", "surrogatepass"), 1

    def ascii(self, depth: int) -> tuple[Any, int]:
        return self.take(self._int()).decode("ascii"), 1

    def short_ascii(self, depth: int) -> tuple[Any, int]:
        return self.take(self._byte()).decode("ascii"), 1

    def small_tuple(self, depth: int) -> tuple[Any, int]:
        values, size = self._values(self._byte(), depth)
        return tuple(values), size

    def read_tuple(self, depth: int) -> tuple[Any, int]:
        values, size = self._values(self._int(), depth)
        return tuple(values), size

    def read_list(self, depth: int) -> tuple[Any, int]:
        return self._values(self._int(), depth)

    def read_set(self, depth: int) -> tuple[Any, int]:
        values, size = self._values(self._int(), depth)
        check_collisions(values)
        return set(values), size

    def read_frozenset(self, depth: int) -> tuple[Any, int]:
        values, size = self._values(self._int(), depth)
        check_collisions(values)
        return frozenset(values), size

    def _values(self, count: int, depth: int) -> tuple[list[Any], int]:
        if not 0 <= count <= len(self.data) - self.position:
            raise ValueError("it ends too early")
        values: list[Any] = []
        total = 1
        for _ in range(count):
            value, size = self.value(depth + 1)
            if value is _END:
                raise ValueError("an end where none may be")
            values.append(value)
            total += size
        return values, total

    def read_dict(self, depth: int) -> tuple[Any, int]:
        keys: list[Any] = []
        values: list[Any] = []
        total = 1
        while True:
            key, size = self.value(depth + 1)
            if key is _END:
                check_collisions(keys)
                return dict(zip(keys, values, strict=True)), total
            value, value_size = self.value(depth + 1)
            if value is _END:
                raise ValueError("an end where none may be")
            keys.append(key)
            values.append(value)
            total += size + value_size


_READERS: dict[int, Callable[[_Reader, int], tuple[Any, int]]] = {
    ord("i"): _Reader.small,
    ord("l"): _Reader.large,
    ord("g"): _Reader.real,
    ord("y"): _Reader.complex_number,
    ord("s"): _Reader.binary,
    ord("u"): _Reader.text,
    ord("t"): _Reader.text,
    ord("a"): _Reader.ascii,
    ord("A"): _Reader.ascii,
    ord("z"): _Reader.short_ascii,
    ord("Z"): _Reader.short_ascii,
    ord("("): _Reader.read_tuple,
    ord(")"): _Reader.small_tuple,
    ord("["): _Reader.read_list,
    ord("{"): _Reader.read_dict,
    ord("<"): _Reader.read_set,
    ord(">"): _Reader.read_frozenset,
}
