"""Checks that the result of a user function is a series of records, and not a single record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isgeneratorfunction
from types import GeneratorType, NoneType
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.row import Row

__all__ = ["producing", "records_of"]

_ONE_RECORD = frozenset((str, bytes, bytearray, dict, Row))
"""Iterable types that stand for one record, not for a series of records."""
_USUAL = frozenset((list, NoneType, GeneratorType))


def producing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself if it is a generator function, else a wrapper that refuses results that
    are not series of records.

    A ``return record`` where ``yield record`` is meant would emit the keys of a dict, the letters
    of a text or the fields of a row.
    """
    if isgeneratorfunction(function):
        return function

    @wraps(function)
    def checked(*arguments: Any) -> Any:
        produced = function(*arguments)
        return produced if type(produced) in _USUAL else records_of(produced, function)

    return checked


def records_of(produced: Any, function: Callable[..., Any]) -> Iterator[Any]:
    """Records in the result of a user function.

    Raises:
        JobExecutionError: the result is a single record, or cannot be iterated over.
    """
    kind = type(produced)
    tagged = kind is tuple and len(produced) == 2 and type(produced[0]) is OutputTag
    if kind not in _ONE_RECORD and not tagged:
        try:
            return iter(produced)
        except TypeError:
            pass
    shown = repr(produced)
    user = getattr(getattr(function, "__self__", None), "wrapped", function)
    name = getattr(user, "__qualname__", repr(user)).rpartition("<locals>.")[2]
    raise JobExecutionError(
        f"{name} returned {shown[:200]}{'...' if len(shown) > 200 else ''}, which is one record "
        "where any number of records is expected: write 'yield' instead of 'return', or return a "
        "list of records (None: no record)"
    )
