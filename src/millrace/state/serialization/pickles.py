"""Pickling of values, and of parts of the program that cannot be imported by name."""

from __future__ import annotations

import io
import pickle
from collections import ChainMap
from collections.abc import Callable
from types import CodeType
from typing import Any, ClassVar

import cloudpickle

from millrace.common.errors import SerializationError

__all__ = ["dump_by_value", "dump_code", "dump_pickle"]

DYNAMIC_CODE = "<dynamic-code>"
"""Name that cloudpickle writes in place of a file's name."""


def dump_pickle(value: Any) -> bytes:
    """Pickle a value with protocol 5. Classes and functions that cannot be imported by name are
    pickled by value."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return dump_by_value(value)


def _code_with_file(code: CodeType) -> tuple[Any, ...]:
    """Reduction of a code object as in cloudpickle, but with the name of its file. From 3.1.3
    on, cloudpickle writes another name, and no traceback of a user's function would show the
    right place."""
    make, arguments, *more = cloudpickle.Pickler.dispatch_table[CodeType](code)
    named = [code.co_filename if argument == DYNAMIC_CODE else argument for argument in arguments]
    return (make, tuple(named), *more)


class _ByValue(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickler that pickles objects by value if they cannot be imported by name."""

    dispatch_table: ClassVar[Any] = ChainMap(
        {CodeType: _code_with_file}, cloudpickle.Pickler.dispatch_table
    )

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5)


def dump_by_value(value: Any) -> bytes:
    """Pickle a value, and the classes and functions in it that cannot be imported by name.

    Raises:
        SerializationError: a part of the value cannot be pickled.
    """
    file = io.BytesIO()
    try:
        _ByValue(file).dump(value)
        return file.getvalue()
    except Exception as error:
        raise SerializationError(
            f"cannot serialize a record or state value of type {type(value).__qualname__}: {error}"
        ) from error


class _Finder(_ByValue):
    """Pickler that remembers the object at which it failed."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.trail: list[Any] = []

    def reducer_override(self, obj: Any) -> Any:
        self.trail.append(obj)
        return super().reducer_override(obj)


def dump_code(value: Any, what: Callable[[], str]) -> bytes:
    """Pickle a part of the program by value. On failure, the error names the captured object;
    ``what`` returns the name of the part for the error."""
    file = io.BytesIO()
    finder = _Finder(file)
    try:
        finder.dump(value)
    except Exception as error:
        culprit = finder.trail[-1] if finder.trail else value
        raise SerializationError(
            f"{what()} cannot be sent to the workers: it captured {_describe(culprit)} "
            f"({type(error).__name__}: {error}). Create it in open() or pass plain data instead."
        ) from error
    return file.getvalue()


def _describe(value: Any) -> str:
    text = repr(value)
    short = text if len(text) <= 80 else text[:77] + "..."
    return f"{short} of type {type(value).__module__}.{type(value).__qualname__}"
