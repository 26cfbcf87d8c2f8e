"""Conversion of JDBC's question marks in statements to the driver's placeholders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

__all__ = ["for_driver", "named"]

_QUOTED = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`)")


def for_driver(statement: str, placeholder: str) -> str:
    """A statement with the driver's placeholders.

    Example:
        >>> for_driver("INSERT INTO t VALUES (?, '50% of what?')", "%s")
        "INSERT INTO t VALUES (%s, '50%% of what?')"
    """
    if placeholder == "?":
        return statement
    return _replaced(statement.replace("%", "%%"), lambda: placeholder)


def named(statement: str) -> str:
    """A statement with SQLAlchemy's named parameters ``p0``, ``p1``, ...

    Example:
        >>> named("SELECT a::text FROM t WHERE b > ? AND c = ':x'")
        "SELECT a\\\\:\\\\:text FROM t WHERE b > :p0 AND c = '\\\\:x'"
    """
    numbers = itertools.count()
    return _replaced(statement.replace(":", "\\:"), lambda: f":p{next(numbers)}")


def _replaced(statement: str, mark: Callable[[], str]) -> str:
    pieces = _QUOTED.split(statement)
    pieces[::2] = [re.sub(r"\?", lambda _: mark(), piece) for piece in pieces[::2]]
    return "".join(pieces)
