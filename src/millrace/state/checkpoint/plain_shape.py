"""Checks that plain data is of the shape that its readers rely on."""

from __future__ import annotations

import types
import typing
from typing import Any

__all__ = ["require"]


def require(value: Any, shape: Any, name: str) -> None:
    """Compare a value with a shape: a type, or a list, dict, tuple or union of shapes.

    Raises:
        TypeError: it is another; the text begins with ``name``.

    Example:
        >>> require({"a": [1]}, dict[str, list[int]], "widths")
        >>> require({"a": ["1"]}, dict[str, list[int]], "widths")
        Traceback (most recent call last):
        ...
        TypeError: widths is not dict[str, list[int]]
    """
    if not _fits(value, shape):
        raise TypeError(f"{name} is not {shape if typing.get_origin(shape) else shape.__name__}")


def _fits(value: Any, shape: Any) -> bool:
    origin, inner = typing.get_origin(shape), typing.get_args(shape)
    if origin is types.UnionType:
        return any(_fits(value, member) for member in inner)
    if origin is None:
        return type(value) is shape
    if type(value) is not origin:
        return False
    if origin is dict:
        return all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if origin is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    return all(_fits(item, inner[0]) for item in value)
