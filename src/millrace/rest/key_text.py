"""Keys from the text of a URL.

What a text means depends on the keys that the state has: ``42`` may be a number or a string,
``2026-11-21`` a date or a string. So keys are looked for that are written like it, then it is read
like each of some example keys in turn, and the first key that is there is the one that was meant.
JSON that is no string comes first, so where both are keys, ``42`` is the number and ``"42"``, in
quotes, the string.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

from millrace.common.types.json_values import dumps, hashable, to_json, untagged
from millrace.common.types.row import Row

__all__ = [
    "exact_candidates",
    "key_candidates",
    "key_text",
    "likely_texts",
    "read_like",
]


def key_text(key: Any) -> str | None:
    """Text form of a key, which is its JSON. None if the key's class has no JSON form.

    Example:
        >>> key_text(("eu", None))
        '["eu",null]'
    """
    try:
        return dumps(to_json(key)).decode()
    except Exception:  # attributes may fail in any way they like
        return None


def likely_texts(text: str) -> list[str]:
    """Text forms (`key_text`) of the keys that a user may have meant by a text.

    Example:
        >>> likely_texts("4 "), likely_texts("2026-11-21")
        (['4', '"4 "'], ['"2026-11-21"'])
    """
    is_json, value = _parsed(text)
    meant = (
        [value, text] if is_json and not isinstance(value, str) else [value if is_json else text]
    )
    texts = []
    for source in meant:
        with suppress(ValueError):  # a number that JSON does not have
            texts.append(dumps(source).decode())
    return texts


def exact_candidates(text: str, written: Iterable[Any], examples: Iterable[Any]) -> list[Any]:
    """Keys that a text means when it is read as JSON (`key_text`): ``42`` means only a number, and
    ``"42"`` only a text. Empty if the text is not JSON.

    Args:
        written: keys with this text.
        examples: keys of the state, one of each shape.

    Example:
        >>> exact_candidates('"42"', [], [42]), exact_candidates("[1.0]", [], [(1,)])
        (['42'], [(1.0,)])
    """
    is_json, value = _parsed(text)
    if not is_json:
        return []
    if not isinstance(value, (list, dict)):
        return [value, *written]
    return _distinct([*written, *_read_like_each(examples, [value]), *_plain([value])])


def key_candidates(text: str, examples: Iterable[Any], written: Iterable[Any] = ()) -> list[Any]:
    """The keys that a text may stand for, the most likely first.

    Args:
        text: JSON of a key (`to_json`), or a plain string; a date, UUID, decimal or name of an
            enum constant needs no quotes.
        examples: keys of the state, one of each shape.
        written: keys with one of its `likely_texts`.

    Example:
        >>> key_candidates("42", ["a"])
        [42, '42']
        >>> key_candidates('["eu", "2026-11-21"]', [("us", dt.date(2026, 1, 1))])[0]
        ('eu', datetime.date(2026, 11, 21))
    """
    meant: list[Any] = []
    is_json, value = _parsed(text)
    if not isinstance(value, (list, dict)):
        meant.append(value if is_json else text)
    sources = [value] if isinstance(value, str) else [value, text] if is_json else [text]
    return _distinct([*meant, *written, *_read_like_each(examples, sources), *_plain(sources)])


def _read_like_each(examples: Iterable[Any], sources: list[Any]) -> list[Any]:
    meant = []
    for example in examples:
        for source in sources:
            with suppress(Exception):  # a class may refuse its fields in any way it likes
                meant.append(read_like(example, source))
    return meant


def _plain(sources: list[Any]) -> list[Any]:
    meant = []
    for source in sources:
        with suppress(ValueError, TypeError, RecursionError):
            meant.append(hashable(untagged(source)))
    return meant


def _parsed(text: str) -> tuple[bool, Any]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _distinct(keys: Iterable[Any]) -> list[Any]:
    distinct: list[Any] = []
    for key in keys:
        if not any(type(key) is type(other) and key == other for other in distinct):
            distinct.append(key)
    return distinct


def read_like(example: Any, source: Any) -> Any:
    """The key that parsed JSON stands for, with the type and shape of ``example``.

    Raises:
        ValueError, TypeError, LookupError: the JSON stands for no such key.
    """
    kind = type(example)
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(source)
    if isinstance(example, enum.Enum):
        return kind[_exactly(str)(source)]
    if isinstance(example, Row):
        return _row_like(example, source)
    if isinstance(example, tuple):
        return _tuple_like(example, source)
    if isinstance(example, frozenset):
        return _set_like(example, source)
    if dataclasses.is_dataclass(example):
        names = [field.name for field in dataclasses.fields(example) if field.init]
        return kind(**_fields_like(example, names, source))
    if isinstance(source, (bool, int, float, str)):  # scalars of numpy, for example
        return kind(source)
    raise TypeError(f"no {kind.__name__} can be read from {source!r}")


def _tuple_like(example: tuple[Any, ...], source: Any) -> Any:
    names = getattr(example, "_fields", None)
    if names is not None:
        return type(example)(**_fields_like(example, names, source))
    return tuple(_parts_like(example, source))


def _row_like(example: Row, source: Any) -> Row:
    if example._fields is None:
        return Row(*_parts_like(list(example), source))
    return Row(**_fields_like(example, example._fields, source))


def _set_like(example: frozenset[Any], source: Any) -> frozenset[Any]:
    if not isinstance(source, list):
        raise TypeError(f"a set is an array, not {source!r}")
    first = next(iter(example), None)
    return frozenset(read_like(first, item) for item in source)


def _parts_like(examples: Iterable[Any], source: Any) -> list[Any]:
    examples = list(examples)
    if not isinstance(source, list) or len(source) != len(examples):
        raise TypeError(f"{len(examples)} parts are an array, not {source!r}")
    return [read_like(example, part) for example, part in zip(examples, source, strict=True)]


def _fields_like(example: Any, names: Iterable[str], source: Any) -> dict[str, Any]:
    names = list(names)
    if isinstance(source, list) and len(source) == len(names):
        source = dict(zip(names, source, strict=True))
    if not isinstance(source, dict) or source.keys() != set(names):
        raise TypeError(f"the fields {names} are an object, not {source!r}")
    return {name: read_like(getattr(example, name), source[name]) for name in names}


def _exactly(*kinds: type) -> Callable[[Any], Any]:
    def read(source: Any) -> Any:
        if type(source) not in kinds:
            raise TypeError(f"{source!r} is no {kinds[0].__name__}")
        return source

    return read


def _bytes(source: Any) -> bytes:
    value = untagged(source)
    if not isinstance(value, bytes):
        raise TypeError(f"{source!r} is not bytes")
    return value


def _float(source: Any) -> float:
    value = untagged(source)
    if type(value) not in (int, float):
        raise TypeError(f"{source!r} is not a number")
    return float(value)


def _number(kind: type) -> Callable[[Any], Any]:
    return lambda source: kind(str(_exactly(str, int, float)(source)))


def _text(kind: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda source: kind(_exactly(str)(source))


_READERS: dict[type, Callable[[Any], Any]] = {
    type(None): _exactly(type(None)),
    bool: _exactly(bool, int, float),
    int: _exactly(int, float, bool),
    float: _float,
    str: _exactly(str),
    bytes: _bytes,
    Decimal: _number(Decimal),
    Fraction: _number(Fraction),
    uuid.UUID: _text(uuid.UUID),
    dt.datetime: _text(dt.datetime.fromisoformat),
    dt.date: _text(dt.date.fromisoformat),
    dt.time: _text(dt.time.fromisoformat),
    dt.timedelta: lambda source: dt.timedelta(seconds=_exactly(int, float)(source)),
}
