"""Encoding of values without a declared type as msgpack. Any reader understands it, and reading
runs no code.

None, booleans, whole numbers of 64 bits, floats, texts, bytes, lists, and dicts whose keys are
texts have their usual form in msgpack. Every other value is a map of one entry, whose key begins
with ``$`` and names the kind: ``{"$tuple": [1, 2]}``, ``{"$decimal": "9.99"}``. A value of no such
kind is ``{"$pickle": bytes}``; it is read only if this is allowed.

In JSON, which has neither, bytes are ``{"$bytes": base64}`` and NaN ``{"$float": "nan"}``.

Data classes, named tuples and enums of millrace itself (splits, positions, windows) are
``{"$data": [class, fields]}``: they are made without calling anything.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import importlib
import math
import pickle
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from millrace.common.errors import SerializationError
from millrace.common.types.row import Row, named_row
from millrace.state.serialization.pickles import dump_pickle

__all__ = ["PickleRefusedError", "dump_tagged", "json_of_tagged", "load_tagged", "tagged_of_json"]

MODULES = tuple(
    f"millrace.{room}."
    for room in ("common", "connectors", "formats", "runtime", "state", "table_runtime")
)
"""Modules whose data classes hold nothing but data."""
MOVED = {"millrace.runtime.table.": "millrace.table_runtime."}
"""Present names of modules, by the names in savepoints of former releases."""
PICKLE = "$pickle"
MAX_DEPTH = 200
MAX_DIGITS = 1 << 16
MANY = 4096
MAX_ALIKE = 64
"""Maximum number of keys with the same hash, if there are more than `MANY` keys."""

_SCALARS = frozenset({int, float, str, bytes, bool, type(None)})
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_MICROSECOND = timedelta(microseconds=1)


class PickleRefusedError(SerializationError):
    """A value would have to be unpickled, and that is not allowed."""


def dump_tagged(value: Any) -> bytes:
    """The bytes of a value.

    Raises:
        SerializationError: a part of the value cannot be pickled either.

    Example:
        >>> load_tagged(dump_tagged({"price": Decimal("9.99"), "at": (1, 2)}))
        {'price': Decimal('9.99'), 'at': (1, 2)}
    """
    if type(value) in _SCALARS:
        try:
            return _encode(value)
        except (OverflowError, UnicodeEncodeError):
            pass
    try:
        return _encode(_tree(value, 0))
    except RecursionError:
        return _encode({PICKLE: dump_pickle(value)})


def load_tagged(data: bytes, pickle_allowed: bool = False) -> Any:
    """The value of bytes made by `dump_tagged`.

    Args:
        pickle_allowed: whether to read pickled values, which may run code of their author.

    Raises:
        PickleRefusedError: the bytes have a pickled value, and reading it is not allowed.
        SerializationError: the bytes are damaged.
    """
    try:
        tree = _decode(data)
        return tree if type(tree) in _SCALARS else _value(tree, pickle_allowed, 0)
    except SerializationError:
        raise
    except Exception as error:
        raise SerializationError(f"damaged content ({type(error).__name__}: {error})") from error


def json_of_tagged(data: bytes) -> Any:
    """JSON form of a value, decoded from its bytes.

    Example:
        >>> json_of_tagged(dump_tagged([(1, 2.5), b"x"]))
        [{'$tuple': [1, 2.5]}, {'$bytes': 'eA=='}]
    """
    return _json(_decode(data))


def tagged_of_json(tree: Any) -> bytes:
    """Bytes for `load_tagged`, from the result of `json_of_tagged`.

    Raises:
        ValueError: a whole number in it has more than 64 bits.
    """
    try:
        return _encode(tree)
    except OverflowError as error:
        raise ValueError(str(error)) from error


def _json(tree: Any) -> Any:
    kind = type(tree)
    if kind is bytes:
        return {"$bytes": base64.b64encode(tree).decode()}
    if kind is float and not math.isfinite(tree):
        return {"$float": str(tree)}
    if kind is list:
        return list(map(_json, tree))
    if kind is dict:
        return {name: _json(item) for name, item in tree.items()}
    return tree


def _tree(value: Any, depth: int) -> Any:
    """Form of a value in msgpack."""
    if depth > MAX_DEPTH:
        raise RecursionError
    kind = type(value)
    if kind in _SCALARS:
        return value if kind not in (int, str) else _number_or_text(value)
    if kind is list:
        return [_tree(item, depth + 1) for item in value]
    if kind is dict:
        return _dict_tree(value, depth)
    make = _TAGS.get(kind)
    if make is not None:
        name, parts = make(value)
        return {name: _tree(parts, depth + 1)}
    if _is_ours(kind):
        return {"$data": _tree(_data_parts(value), depth + 1)}
    return {PICKLE: dump_pickle(value)}


def _number_or_text(value: Any) -> Any:
    if type(value) is int:
        fits = -(1 << 63) <= value < 1 << 63
        return value if fits else {"$int": hex(value)}
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"$text": value.encode("utf-8", "surrogatepass")}
    return value


def _dict_tree(value: dict[Any, Any], depth: int) -> Any:
    if all(type(key) is str and not key.startswith("$") and key.isascii() for key in value):
        return {key: _tree(item, depth + 1) for key, item in value.items()}
    return {"$map": [[_tree(k, depth + 1), _tree(v, depth + 1)] for k, v in value.items()]}


def _datetime(value: datetime) -> tuple[str, list[Any]]:
    return "$datetime", [value.replace(tzinfo=None).isoformat(), value.fold, _zone(value.tzinfo)]


def _time(value: time) -> tuple[str, list[Any]]:
    return "$time", [value.replace(tzinfo=None).isoformat(), value.fold, _zone(value.tzinfo)]


def _zone(zone: Any) -> Any:
    """Form of a time zone: a name, an offset, or a value to be pickled."""
    if type(zone) is ZoneInfo and zone.key is not None:
        return zone.key
    if type(zone) is timezone and zone == timezone(zone.utcoffset(None)):
        return zone.utcoffset(None)
    return zone


_TAGS: dict[type, Callable[[Any], tuple[str, Any]]] = {
    tuple: lambda v: ("$tuple", list(v)),
    set: lambda v: ("$set", list(v)),
    frozenset: lambda v: ("$frozenset", list(v)),
    deque: lambda v: ("$deque", [v.maxlen, list(v)]),
    bytearray: lambda v: ("$bytearray", bytes(v)),
    complex: lambda v: ("$complex", [v.real, v.imag]),
    Decimal: lambda v: ("$decimal", str(v)),
    Fraction: lambda v: ("$fraction", [v.numerator, v.denominator]),
    date: lambda v: ("$date", v.isoformat()),
    datetime: _datetime,
    time: _time,
    timedelta: lambda v: ("$duration", v // _MICROSECOND),
    UUID: lambda v: ("$uuid", str(v)),
    Row: lambda v: ("$row", [v._fields, v._values, v._row_kind.value]),
}


def _data_parts(value: Any) -> list[Any]:
    kind = type(value)
    place = f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, enum.Enum):
        return [place, value.name]
    if isinstance(value, tuple):
        return [place, list(value)]
    return [place, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}]


def _is_ours(kind: type) -> bool:
    """Whether ``kind`` is a named tuple, enum or dataclass of the packages in `MODULES`, at the
    top level of its module."""
    if not kind.__module__.startswith(MODULES) or "." in kind.__qualname__:
        return False
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return named or issubclass(kind, enum.Enum) or "__dataclass_fields__" in vars(kind)


# -- reading -------------------------------------------------------------------------------------


def _value(tree: Any, pickles: bool, depth: int) -> Any:
    """Value for its form in msgpack."""
    if depth > 2 * MAX_DEPTH:
        raise SerializationError("values nested too deep")
    kind = type(tree)
    if kind in _SCALARS:
        return tree
    if kind is list:
        return [_value(item, pickles, depth + 1) for item in tree]
    if kind is not dict:
        raise SerializationError(f"a {kind.__qualname__}, which is never written")
    if len(tree) == 1:
        ((name, parts),) = tree.items()
        if type(name) is str and name.startswith("$"):
            return _tagged(name, parts, pickles, depth)
    return {key: _value(item, pickles, depth + 1) for key, item in tree.items()}


def _tagged(name: str, parts: Any, pickles: bool, depth: int) -> Any:
    if name == PICKLE:
        if not pickles:
            raise PickleRefusedError("it contains a pickle, and reading pickles is not allowed")
        return pickle.loads(_value(parts, pickles, depth + 1))
    make = _READERS.get(name)
    if make is None:
        raise SerializationError(f"an unknown kind of value, {name:.40}")
    return make(_value(parts, pickles, depth + 1))


def _integer(text: str) -> int:
    return int(text, 16)


def _decimal(text: Any) -> Decimal:
    """Decimal from a text. Whole numbers are refused, because their conversion takes time
    proportional to the square of their length."""
    if type(text) is not str:
        raise SerializationError("a decimal that is not text")
    return Decimal(text)


def _fraction(parts: list[Any]) -> Fraction:
    if any(type(part) is not int or part.bit_length() > MAX_DIGITS for part in parts):
        raise SerializationError("a fraction of something other than numbers")
    return Fraction(*parts)


def _bytearray(data: Any) -> bytearray:
    """Bytearray from bytes. Numbers are refused, because a bytearray of that length would be
    created."""
    if type(data) is not bytes:
        raise SerializationError("a bytearray of something other than bytes")
    return bytearray(data)


def _items(parts: Any) -> list[Any]:
    """The items, if ``parts`` is a list. Texts are refused, because each character would become
    a text of its own."""
    if type(parts) is not list:
        raise SerializationError("a collection of something other than a list")
    return parts


def _keys(keys: list[Any]) -> list[Any]:
    """Keys of a set or a dict, after a check of their hashes. Many keys with equal hashes are
    refused, because lookups would take time proportional to the square of the number of keys."""
    if len(keys) > MANY:
        hashes = sorted(map(hash, keys))
        if any(a == b for a, b in zip(hashes, hashes[MAX_ALIKE:], strict=False)):
            raise SerializationError("keys that were chosen to have the same hash")
    return keys


def _map(parts: Any) -> dict[Any, Any]:
    pairs = list(map(_items, _items(parts)))
    _keys([key for key, _ in pairs])
    return dict(pairs)


def _zoned(parts: list[Any], parse: Callable[[str], Any]) -> Any:
    text, fold, zone = parts
    if type(zone) is str:
        zone = ZoneInfo(zone)
    elif type(zone) is timedelta:
        zone = timezone(zone)
    return parse(text).replace(fold=fold, tzinfo=zone)


def _row(parts: list[Any]) -> Row:
    names, values, kind = parts
    return named_row(names, values, kind)


def _data(parts: list[Any]) -> Any:
    place, content = parts
    module, _, name = place.partition(":")
    for former, now in MOVED.items():
        if module.startswith(former):
            module = now + module.removeprefix(former)
    if not module.startswith(MODULES) or "." in name:
        raise SerializationError(f"it names {place}, which is not a data type of millrace")
    data_type = getattr(importlib.import_module(module), name, None)
    if not isinstance(data_type, type) or data_type.__module__ != module or not _is_ours(data_type):
        raise SerializationError(f"it names {place}, which is not a data type of millrace")
    if issubclass(data_type, enum.Enum):
        return data_type[content]
    if issubclass(data_type, tuple):
        return tuple.__new__(data_type, content)
    return _filled(data_type, content)


def _filled(kind: Any, content: dict[str, Any]) -> Any:
    names = {f.name for f in dataclasses.fields(kind)}
    if content.keys() != names:
        raise SerializationError(f"{kind.__qualname__} has other fields in this version")
    made = object.__new__(kind)
    for name, value in content.items():
        object.__setattr__(made, name, value)
    return made


_READERS: dict[str, Callable[[Any], Any]] = {
    "$int": _integer,
    "$float": float,
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$text": lambda data: data.decode("utf-8", "surrogatepass"),
    "$map": _map,
    "$tuple": lambda parts: tuple(_items(parts)),
    "$set": lambda parts: set(_keys(_items(parts))),
    "$frozenset": lambda parts: frozenset(_keys(_items(parts))),
    "$deque": lambda parts: deque(_items(parts[1]), parts[0]),
    "$bytearray": _bytearray,
    "$complex": lambda parts: complex(*map(float, parts)),
    "$decimal": _decimal,
    "$fraction": _fraction,
    "$date": date.fromisoformat,
    "$datetime": lambda parts: _zoned(parts, datetime.fromisoformat),
    "$time": lambda parts: _zoned(parts, time.fromisoformat),
    "$duration": lambda micros: micros * _MICROSECOND,
    "$uuid": UUID,
    "$row": _row,
    "$data": _data,
}
