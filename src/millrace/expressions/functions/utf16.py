"""Texts in UTF-16 units as in Java, which some functions of Flink count.

CHAR_LENGTH, SUBSTRING, LEFT, RIGHT, POSITION, LOCATE, INSTR, REVERSE, SPLIT and TRANSLATE count
characters; LPAD, RPAD, OVERLAY and REGEXP_INSTR count units.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

__all__ = ["code_units", "encodable", "in_code_units"]

_BEYOND = "\uffff"
_HALF = re.compile("[\ud800-\udfff]")


def code_units(text: str) -> int:
    """Length of a text in Java.

    >>> code_units("a😀")
    3
    """
    return len(text) if text.isascii() else len(text) + sum(c > _BEYOND for c in text)


def encodable(text: str) -> str:
    """The text with ``?`` in place of lone surrogates, which UTF-8 cannot encode, as Java writes
    it.

    >>> encodable("a\\ud83d")
    'a?'
    """
    return text if text.isascii() else _HALF.sub("?", text)


def in_code_units(function: Callable[..., str | None]) -> Callable[..., str | None]:
    """Function that applies another function to texts in UTF-16 units. Half of a character becomes
    ``?``.

    >>> in_code_units(lambda text: text[:2])("a😀")
    'a?'
    """

    @wraps(function)
    def wrapped(*arguments: Any) -> str | None:
        if not any(isinstance(argument, str) and _is_beyond(argument) for argument in arguments):
            return function(*arguments)
        units = (
            _split(argument) if isinstance(argument, str) else argument for argument in arguments
        )
        made = function(*units)
        return None if made is None else _joined(made)

    return wrapped


def _is_beyond(text: str) -> bool:
    return not text.isascii() and max(text) > _BEYOND


def _split(text: str) -> str:
    return "".join(map(chr, memoryview(text.encode("utf-16-le")).cast("H")))


def _joined(units: str) -> str:
    return encodable(
        units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    )
