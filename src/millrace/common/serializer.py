"""PyFlink's import path for `millrace.common.types.serializer`."""

from __future__ import annotations

from typing import TypeVar

from millrace.common.types.serializer import (
    TypeSerializer,
)

__all__ = [
    "TypeSerializer",
]

T = TypeVar("T")
