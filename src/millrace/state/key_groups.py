"""Key groups: the units in which keyed state is spread over subtasks and redistributed.

As in Flink, a key belongs to one of ``max_parallelism`` key groups by a stable hash, and a key
group to one subtask by its range (Flink docs, "Scaling and max parallelism"). The hash is taken
over a canonical encoding, never over `hash()`, which changes from process to process. Keys that are
equal in Python (``1``, ``1.0``, ``True``, ``Decimal(1)``) encode equally.

Key types: None, bool, int, float (not NaN), str, bytes, Decimal, Fraction, complex, tuple,
frozenset, date, time, datetime, timedelta, UUID, Enum, named tuples, Row, numpy scalars, and
dataclasses that can be hashed: frozen ones, those with ``unsafe_hash`` or a ``__hash__`` of their
own. A dataclass is encoded by its name and the fields that it is compared by.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import struct
import uuid
import zlib
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import TYPE_CHECKING, Any

from millrace.common.errors import KeyTypeError
from millrace.common.types.row import Row

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from millrace.state.crc_tables import Crcs

MEMO_LIMIT = 1 << 20
"""Maximum number of distinct keys in a memo. A full memo is emptied."""

MAX_KEY_GROUPS = 1 << 15
"""Limit for the number of key groups of a job, as in Flink."""

MAX_EXPONENT = 10_000
"""Limit for the exponent of decimals as keys: their encoding has every digit of the equal whole
number."""

_UNIX = dt.datetime(1970, 1, 1)


def canonical(key: Any) -> bytes:
    """Stable encoding of a key; equal keys have equal encodings.

    Raises KeyTypeError, which names the type, if the key has no stable encoding.
    """
    encoder = _ENCODERS.get(type(key))
    if encoder is not None:
        return encoder(key)
    return _canonical_other(key)


def key_hash(key: Any) -> int:
    """Stable 32-bit hash of a key."""
    mixed = zlib.crc32(canonical(key))
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return mixed ^ (mixed >> 16)


def key_group_of(key: Any, max_parallelism: int) -> int:
    """The key group of a key, in ``range(max_parallelism)``."""
    return key_hash(key) % max_parallelism


def subtask_of(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """Subtask that owns a key group; the formula is the same as Flink's."""
    return key_group * parallelism // max_parallelism


def owners_of_keys(
    keys: list[Any], parallelism: int, max_parallelism: int
) -> npt.NDArray[np.uint16]:
    """Subtask of each of many keys. Many times as fast as single lookups."""
    import numpy as np  # jobs without columns do without it, as it takes time to import

    from millrace.state.crc_tables import key_hashes

    owners = [subtask_of(g, parallelism, max_parallelism) for g in range(max_parallelism)]
    groups = key_hashes(_crcs_of_keys(keys)) % np.uint32(max_parallelism)
    return np.array(owners, np.uint16).take(groups)


def warm_up() -> None:
    """Load the modules and tables of `owners_of_keys`, which takes a tenth of a second in a new
    process.
    """
    owners_of_keys([0, 1 << 16, -1], 1, 1)


def _crcs_of_keys(keys: list[Any]) -> Crcs:
    """CRC-32 of the canonical encoding of each key."""
    import numpy as np

    from millrace.state.crc_tables import crcs_of_whole_numbers

    kinds = set(map(type, keys))
    crc32 = zlib.crc32
    if kinds == {int}:
        with suppress(OverflowError):  # numbers beyond 64 bits are encoded one by one
            return crcs_of_whole_numbers(np.array(keys, np.int64))
    if kinds == {str}:
        crcs = [crc32(_str(key)) for key in keys]
    else:
        crcs = [crc32(canonical(key)) for key in keys]
    return np.array(crcs, np.uint32)


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Key groups that a subtask owns."""
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism + parallelism - 1) // parallelism
    return range(start, end)


class KeyMemo(dict[Any, Any]):
    """Cache of limited size: maps each distinct key to ``resolve(key group)``, which is computed
    once per cached key."""

    __slots__ = ("_limit", "_max_parallelism", "_resolve")

    def __init__(
        self, max_parallelism: int, resolve: Callable[[int], Any], limit: int = MEMO_LIMIT
    ) -> None:
        self._max_parallelism = max_parallelism
        self._resolve = resolve
        self._limit = limit

    def __missing__(self, key: Any) -> Any:
        if len(self) >= self._limit:
            self.clear()
        # as `key_hash`, but a call less for the most usual keys: there may be millions of them
        kind = type(key)
        if kind is str:
            mixed = zlib.crc32(b"s" + key.encode("utf-8", "surrogatepass"))
        else:
            mixed = zlib.crc32(b"i%x" % key if kind is int else canonical(key))
        mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
        mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
        value = self[key] = self._resolve((mixed ^ (mixed >> 16)) % self._max_parallelism)
        return value


def _int(key: int) -> bytes:
    return b"i%x" % int(key)  # not decimal: Python refuses to write more than 4,300 digits


def _float(key: float) -> bytes:
    if math.isnan(key):
        raise KeyTypeError("NaN cannot be a key: it is not equal to itself")
    if math.isinf(key) or not key.is_integer():
        return b"f" + struct.pack(">d", key)
    return _int(int(key))


def _str(key: str) -> bytes:
    return b"s" + key.encode("utf-8", "surrogatepass")


def _tuple(key: tuple[Any, ...]) -> bytes:
    return b"t" + b"".join(_sized(part) for part in key)


def _frozenset(key: frozenset[Any]) -> bytes:
    return b"S" + b"".join(sorted(_sized(part) for part in key))


def _sized(part: Any) -> bytes:
    encoded = canonical(part)
    return struct.pack(">I", len(encoded)) + encoded


def _rational(key: Decimal | Fraction) -> bytes:
    if isinstance(key, Decimal) and not key.is_finite():
        return _float(math.nan if key.is_nan() else float(key))
    if isinstance(key, Decimal) and abs(key.adjusted()) > MAX_EXPONENT:
        raise KeyTypeError(f"{key} cannot be a key: its exponent is beyond {MAX_EXPONENT}")
    ratio = Fraction(key)
    if ratio.denominator == 1:
        return _int(ratio.numerator)
    if _is_float(ratio):
        return _float(float(ratio))
    return b"q%x/%x" % (ratio.numerator, ratio.denominator)


def _is_float(ratio: Fraction) -> bool:
    try:
        return Fraction(float(ratio)) == ratio
    except OverflowError:
        return False


def _complex(key: complex) -> bytes:
    if key.imag == 0:
        return _float(key.real)
    return b"c" + _sized(key.real) + _sized(key.imag)


def _datetime(key: dt.datetime) -> bytes:
    key = key.replace(fold=0)  # equality and hash() ignore it
    offset = key.utcoffset()
    if offset is not None:
        return b"z" + _timedelta(key.replace(tzinfo=None) - _UNIX - offset)
    return b"n" + key.isoformat().encode()


def _time(key: dt.time) -> bytes:
    offset = key.utcoffset()
    if offset is None:
        return b"h" + key.replace(fold=0, tzinfo=None).isoformat().encode()
    since_midnight = dt.timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    return b"H" + _timedelta(since_midnight - offset)


def _timedelta(key: dt.timedelta) -> bytes:
    return b"d%d,%d,%d" % (key.days, key.seconds, key.microseconds)


def _named(tag: bytes, key: Any, parts: tuple[Any, ...]) -> bytes:
    return tag + _sized(type(key).__qualname__) + _tuple(parts)


def _row(key: Row) -> bytes:
    return b"R" + _tuple(tuple(key))


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    int: _int,
    bool: _int,
    str: _str,
    float: _float,
    bytes: lambda key: b"b" + key,
    type(None): lambda key: b"N",
    tuple: _tuple,
    frozenset: _frozenset,
    Decimal: _rational,
    Fraction: _rational,
    complex: _complex,
    dt.datetime: _datetime,
    dt.date: lambda key: b"D" + key.isoformat().encode(),
    dt.time: _time,
    dt.timedelta: _timedelta,
    uuid.UUID: lambda key: b"U" + key.bytes,
    Row: _row,
}

_BASES: tuple[type, ...] = (
    int, float, str, bytes, complex, tuple, frozenset, Decimal, Fraction,
    dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID,
)  # fmt: skip


def _canonical_other(key: Any) -> bytes:
    for base in _BASES:
        if isinstance(key, base):
            return _ENCODERS[base](key)
    if isinstance(key, enum.Enum):
        return _named(b"E", key, (key.name,))
    if _is_hashable_dataclass(key):
        values = tuple(getattr(key, f.name) for f in dataclasses.fields(key) if f.compare)
        return _named(b"C", key, values)
    plain = _plain_number(key)
    if plain is not None:
        return canonical(plain)
    raise KeyTypeError(refusal(key))


def _plain_number(key: Any) -> Any:
    """Plain Python number with the value and hash of a numpy scalar; None for any other key."""
    is_numpy_bool = type(key).__module__ == "numpy" and type(key).__name__ in ("bool", "bool_")
    if not (isinstance(key, Number) or is_numpy_bool) or not hasattr(key, "item"):
        return None
    plain = key.item()
    return plain if type(plain) in (bool, int, float, complex) else None


def _is_hashable_dataclass(key: Any) -> bool:
    params = getattr(type(key), "__dataclass_params__", None)
    return params is not None and params.eq and type(key).__hash__ is not None


def refusal(key: Any) -> str:
    """Sentence that says why a key is refused, and which kind of key to use instead."""
    kind = f"{type(key).__module__}.{type(key).__qualname__}".removeprefix("builtins.")
    shown = repr(key)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return (
        f"a key of type {kind} ({shown}) has no stable encoding; use a str, int, bytes, tuple or "
        "another of the key types listed in the documentation of key_by, or make its class a "
        "@dataclass(frozen=True), a named tuple or an enum"
    )
