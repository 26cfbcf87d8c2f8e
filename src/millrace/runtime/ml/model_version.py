"""`model_version`: a short text that is equal for models with equal content."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import cloudpickle
import numpy as np

__all__ = ["model_version"]

_DIGITS = 16


def model_version(model: Any) -> str:
    """Hex digits of a hash of a model's content.

    The hash covers the name and fields of data classes, each bit of numbers and arrays, and the
    pickled bytes of other objects.

    Example:
        >>> model_version([1.0, "a"]) == model_version([1.0, "a"])
        True
        >>> model_version([1.0, "a"]) == model_version([2.0, "a"])
        False
    """
    digest = hashlib.sha256()
    for part in _parts(model):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:_DIGITS]


def _parts(value: Any) -> Iterator[bytes]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__.encode()
        for field in dataclasses.fields(value):
            yield field.name.encode()
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple | list):
        yield f"{len(value)}".encode()
        for item in value:
            yield from _parts(item)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield from _parts(key)
            yield from _parts(value[key])
    elif value is None or isinstance(value, str | int | float | bool | bytes):
        yield repr(value).encode()
    else:
        yield _pickled(value)


def _pickled(value: Any) -> bytes:
    """Pickled bytes of a value. The value is pickled twice, because the first result depends on
    whether equal parts happen to be the same object."""
    once: bytes = cloudpickle.dumps(value)
    twice: bytes = cloudpickle.dumps(pickle.loads(once), protocol=5)
    return twice
