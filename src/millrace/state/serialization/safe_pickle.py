"""Pickles that cannot do anything: written and read with a short list of classes.

Where ``state.pickle.allowed`` is false, what has no declared type may still be of classes that are
nothing but data: decimals, dates, UUIDs, rows, and the data classes of millrace itself (splits,
positions, windows). A pickle names classes and functions to be called; this reader knows which, and
calls nothing else. It is the unpickler of the standard library in Python, where no length is
believed before the bytes are there.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import importlib
import io
import pickle
import re
from collections.abc import Callable, Collection
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar
from uuid import UUID, SafeUUID
from zoneinfo import ZoneInfo

from millrace.common.errors import SerializationError
from millrace.common.types.row import Row, RowKind, named_row
from millrace.state.serialization.plain_reader import MAX_COLLISIONS, MAX_DEPTH, check_collisions

__all__ = ["dump_safe", "is_safe_class", "load_safe"]

MODULES = tuple(
    f"millrace.{room}." for room in ("common", "connectors", "formats", "runtime", "state")
)
"""Whose data classes are nothing but data."""
MAX_BITS = 1 << 16
MAX_SIZE = 1_000_000
"""How many values a tuple may hold at all depths, repetitions counted: its hash visits them all."""
_RATIO = re.compile(r"-?[0-9]+(?:/[0-9]+)?")


def _fraction(numerator: Any, denominator: Any = 1) -> Fraction:
    for part in (numerator, denominator):
        if type(part) is str:
            fits = len(part) <= MAX_BITS and _RATIO.fullmatch(part) is not None
        else:
            fits = type(part) is int and part.bit_length() <= MAX_BITS
        if not fits:
            raise pickle.UnpicklingError("a fraction of too many digits")
    return Fraction(numerator, denominator)


def _decimal(digits: Any) -> Decimal:
    """Of text, as pickles have it: to make one of a whole number takes the square of its length."""
    if type(digits) is not str:
        raise pickle.UnpicklingError("a decimal that is not text")
    return Decimal(digits)


def _ordered() -> collections.OrderedDict[Any, Any]:
    """Empty: entries come with SETITEMS, which looks at their hashes."""
    return collections.OrderedDict()


def _named_row(names: Any, values: Any, kind: Any) -> Row:
    """Of tuples only, for these were counted."""
    if (
        not (names is None or type(names) is tuple)
        or type(values) is not tuple
        or type(kind) is not int
    ):
        raise pickle.UnpicklingError("a row that is not made of tuples")
    return named_row(names, values, kind)


def _zone(key: str, from_cache: bool = True) -> ZoneInfo:
    return ZoneInfo(key) if from_cache else ZoneInfo.no_cache(key)


def _getattr(owner: object, name: str) -> Any:
    """What pickle itself writes a zone with."""
    if owner is _zone and name == "_unpickle":
        return _zone
    raise pickle.UnpicklingError(f"it asks for {name!r} of {owner!r}")


def _complex(real: float, imaginary: float) -> complex:
    return complex(real, imaginary)


def _new(cls: type, *args: Any) -> Any:
    """``copyreg.__newobj__``, for classes that are data."""
    if not is_data_class(cls):
        raise pickle.UnpicklingError(f"{cls!r} is not made without a call")
    return cls.__new__(cls, *args)


_CALLED: dict[tuple[str, str], Callable[..., Any]] = {
    ("builtins", "complex"): _complex,
    ("builtins", "getattr"): _getattr,
    ("collections", "OrderedDict"): _ordered,
    ("collections", "deque"): collections.deque,
    ("copyreg", "__newobj__"): _new,
    ("datetime", "date"): date,
    ("datetime", "datetime"): datetime,
    ("datetime", "time"): time,
    ("datetime", "timedelta"): timedelta,
    ("datetime", "timezone"): timezone,
    ("decimal", "Decimal"): _decimal,
    ("fractions", "Fraction"): _fraction,
    ("uuid", "SafeUUID"): SafeUUID,
    ("zoneinfo", "ZoneInfo"): _zone,
    ("millrace.common.types.row", "Row"): Row,
    ("millrace.common.types.row", "RowKind"): RowKind,
    ("millrace.common.types.row", "named_row"): _named_row,
}
"""What a pickle may call."""

_CLASSES: frozenset[type] = frozenset(
    {
        complex, collections.OrderedDict, collections.deque, date, datetime, time, timedelta,
        timezone, Decimal, Fraction, UUID, SafeUUID, ZoneInfo, Row, RowKind, bytearray,
        int, float, str, bytes, bool, type(None), tuple, list, dict, set, frozenset,
    }
)  # fmt: skip


def is_data_class(cls: Any) -> bool:
    """Whether it is a class of ours whose values are made of fields, or UUID."""
    if cls is UUID:
        return True
    if not isinstance(cls, type) or not cls.__module__.startswith(MODULES):
        return False
    named = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return named or "__dataclass_fields__" in vars(cls)


def is_safe_class(cls: type) -> bool:
    """Whether values of a class can be written and read without leave to pickle."""
    return cls in _CLASSES or is_data_class(cls) or _is_own_enum(cls)


def _is_own_enum(cls: Any) -> bool:
    return (
        isinstance(cls, type) and issubclass(cls, enum.Enum) and cls.__module__.startswith(MODULES)
    )


class _Pickler(pickle.Pickler):
    """Stops at the first value that the reader would refuse."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is ZoneInfo and obj.key is not None:
            return ZoneInfo, (obj.key,)
        cls = obj if isinstance(obj, type) else type(obj)
        if not is_safe_class(cls) and obj is not named_row:
            raise SerializationError(f"{cls.__module__}.{cls.__qualname__}")
        return NotImplemented


def dump_safe(value: Any) -> bytes:
    """A pickle that `load_safe` reads.

    Raises:
        SerializationError: something in it is of another class; the text is the class's name.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, 5).dump(value)
    except SerializationError:
        raise
    except Exception as error:
        raise SerializationError(f"{type(value).__qualname__}: {error}") from error
    return file.getvalue()


def load_safe(data: bytes | memoryview) -> Any:
    """The value of a pickle made by `dump_safe`; no other code is run.

    Raises:
        SerializationError: it is damaged, or names something that is not on the list.
    """
    try:
        return _Unpickler(bytes(data)).load()
    except SerializationError:
        raise
    except Exception as error:
        raise SerializationError(f"damaged content ({type(error).__name__}: {error})") from error


_Base: Any = pickle._Unpickler


class _Unpickler(_Base):  # type: ignore[misc]
    """Calls what is on the list, and bounds what a hash has to visit.

    The hash of a tuple visits all that is in it, again and again where the same thing is in it
    several times; C code does that without a limit of depth.
    """

    dispatch: ClassVar[dict[int, Any]] = dict(_Base.dispatch)

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self._length = len(data)
        self._known: dict[int, tuple[Any, int, int]] = {}
        """Per id: what can be hashed itself, its depth and its size."""
        self._unbuilt: dict[int, Any] = {}
        self._hashes: dict[int, tuple[Any, set[int]]] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CALLED:
            return _CALLED[module, name]
        if (module, name) == ("uuid", "UUID"):
            return UUID
        if module.startswith(MODULES) and "." not in name:
            found = getattr(importlib.import_module(module), name, None)
            if getattr(found, "__module__", None) == module and (
                is_data_class(found) or _is_own_enum(found)
            ):
                return found
        raise SerializationError(f"it names {module}.{name}, and state.pickle.allowed is false")

    def make(self) -> None:
        """REDUCE: call what is below the arguments."""
        arguments = self.stack.pop()
        called = self.stack[-1]
        if type(arguments) is not tuple or not _may_be_called(called):
            raise pickle.UnpicklingError(f"it calls {called!r}")
        self.stack[-1] = called(*arguments)
        self._note(arguments)

    def make_new(self) -> None:
        """NEWOBJ: an instance without a call."""
        arguments = self.stack.pop()
        cls = self.stack[-1]
        self.stack[-1] = made = _new(cls, *arguments)
        if isinstance(made, tuple):
            self._note(made)
        elif cls is UUID or dataclasses.fields(cls):
            self._unbuilt[id(made)] = made

    def build(self) -> None:
        """BUILD: fill an instance, once, and before it is put anywhere."""
        state, built = self.stack[-1], self.stack[-2]
        if self._unbuilt.pop(id(built), None) is None:
            raise pickle.UnpicklingError(f"it changes a {type(built).__qualname__}")
        _Base.load_build(self)
        self._note(_leaves(state))

    def note_tuple(self, load: Callable[[Any], None]) -> None:
        """TUPLE, TUPLE1, ... and FROZENSET."""
        load(self)
        self._note(self.stack[-1])

    def _note(self, parts: Collection[Any]) -> None:
        """The value on top of the stack is made of ``parts``."""
        depth, size = 1, 1
        for part in parts:
            if id(part) in self._unbuilt:
                raise pickle.UnpicklingError("it uses a value that is not complete")
            known = self._known.get(id(part))
            if known is not None:
                depth, size = max(depth, 1 + known[1]), size + known[2]
        size += len(parts)
        if depth > MAX_DEPTH or size > MAX_SIZE + self._length:
            raise pickle.UnpicklingError("tuples nested too deep")
        made = self.stack[-1]
        self._known[id(made)] = (made, depth, size)

    def frozen(self) -> None:
        """FROZENSET."""
        check_collisions(self.stack)
        _Base.load_frozenset(self)
        self._note(self.stack[-1])

    def put_one(self) -> None:
        """SETITEM."""
        self._grow(self.stack[-3], [self.stack[-2]], dict)
        _Base.load_setitem(self)

    def put_many(self) -> None:
        """SETITEMS."""
        self._grow(self.metastack[-1][-1], self.stack[::2], dict)
        _Base.load_setitems(self)

    def add_many(self) -> None:
        """ADDITEMS."""
        self._grow(self.metastack[-1][-1], self.stack, set)
        _Base.load_additems(self)

    def append_one(self) -> None:
        """APPEND."""
        self._check_list(self.stack[-2])
        _Base.load_append(self)

    def append_many(self) -> None:
        """APPENDS."""
        self._check_list(self.metastack[-1][-1])
        _Base.load_appends(self)

    def bytes_to_change(self) -> None:
        """BYTEARRAY8: not made before its bytes are there."""
        length = int.from_bytes(self.read(8), "little")
        if length > self._length:
            raise pickle.UnpicklingError("it ends too early")
        self.append(bytearray(self.read(length)))

    def refuse(self) -> None:
        """What pickle 5 does not write."""
        raise pickle.UnpicklingError("an instruction that is never written")

    def _check_list(self, grown: Any) -> None:
        if not isinstance(grown, (list, collections.deque)):
            raise pickle.UnpicklingError(f"it changes a {type(grown).__qualname__}")

    def _grow(
        self, grown: Any, keys: list[Any], kind: type[dict[Any, Any]] | type[set[Any]]
    ) -> None:
        """Keys are about to come into a dict or set."""
        if not isinstance(grown, kind):
            raise pickle.UnpicklingError(f"it changes a {type(grown).__qualname__}")
        count = len(grown) + len(keys)
        if count <= MAX_COLLISIONS:
            return
        _, hashes = self._hashes.setdefault(id(grown), (grown, set(map(hash, grown))))
        hashes.update(map(hash, keys))
        if len(hashes) < count - MAX_COLLISIONS:
            raise pickle.UnpicklingError("too many of its keys have the same hash")


def _may_be_called(called: Any) -> bool:
    return any(called is known for known in _CALLED.values()) or _is_own_enum(called)


def _leaves(state: Any) -> list[Any]:
    """What an instance is filled with: the values of one dict, of two, or of a list."""
    parts = state if isinstance(state, (tuple, list)) else [state]
    values: list[Any] = []
    for part in parts:
        values += part.values() if isinstance(part, dict) else [part]
    return values


def _noting(code: bytes) -> Callable[[_Unpickler], None]:
    load = _Unpickler.dispatch[code[0]]
    return lambda self: self.note_tuple(load)


_OVERRIDDEN: dict[bytes, Callable[[_Unpickler], None]] = {
    pickle.REDUCE: _Unpickler.make,
    pickle.NEWOBJ: _Unpickler.make_new,
    pickle.BUILD: _Unpickler.build,
    pickle.FROZENSET: _Unpickler.frozen,
    pickle.SETITEM: _Unpickler.put_one,
    pickle.SETITEMS: _Unpickler.put_many,
    pickle.ADDITEMS: _Unpickler.add_many,
    pickle.APPEND: _Unpickler.append_one,
    pickle.APPENDS: _Unpickler.append_many,
    pickle.BYTEARRAY8: _Unpickler.bytes_to_change,
    **{
        code: _noting(code)
        for code in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
    },
    **dict.fromkeys(
        (
            pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4,
            pickle.PERSID, pickle.BINPERSID, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER,
            pickle.DUP,
        ),
        _Unpickler.refuse,
    ),
}  # fmt: skip
_Unpickler.dispatch.update({code[0]: load for code, load in _OVERRIDDEN.items()})
