"""Decoding of JSON into classes, safe for several threads.

msgspec learns a class when it is first read into. If two threads have it learn the same dataclass
at once, one of them sees what the other has not finished, and the process ends with a segmentation
fault (msgspec 0.22). So one thread at a time has it learn.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar, cast

import msgspec

__all__ = ["decode_json", "learn"]

T = TypeVar("T")

_learning = Lock()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decode_json(data: bytes | bytearray | memoryview | str | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON as a value of any type that msgspec supports.

    Raises:
        msgspec.MsgspecError: it is not JSON, or something else.

    Example:
        >>> decode_json('{"north": 7}', dict[str, int])
        {'north': 7}
    """
    return cast("T", learn(kind).decode(data))


def learn(kind: Any) -> msgspec.json.Decoder[Any]:
    """Register a type with msgspec, once; afterwards threads can convert to it safely."""
    decoder = _decoders.get(kind)
    if decoder is None:
        with _learning:
            decoder = _decoders.get(kind)
            if decoder is None:
                decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    return decoder
