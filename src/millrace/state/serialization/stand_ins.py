"""Reading state without the program that wrote it: what is of a class that is not here is shown as
a stand-in, which has the class's name and the value's fields.
"""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import Any

from millrace.common.errors import SerializationError
from millrace.state.serialization.payload import PICKLE, decode
from millrace.state.serialization.snapshot_codec import SAFE, SnapshotCodec

__all__ = ["SHOWING", "StandIn", "showing_codec"]


class StandIn:
    """A value of a class that cannot be imported here."""

    _place = ("", "")
    """Module and name of the class."""
    _args: tuple[Any, ...]
    _state: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> StandIn:
        made = object.__new__(cls)
        object.__setattr__(made, "_args", args)
        object.__setattr__(made, "_state", dict(kwargs))
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        for part in (plain, slots):
            if isinstance(part, dict):
                self._state.update(part)
            elif part is not None:
                values = part if isinstance(part, (list, tuple)) else [part]
                self._state.update({f"f{index}": value for index, value in enumerate(values)})

    def fields(self) -> dict[str, Any]:
        """What is known of the value: its attributes, or what its class was called with."""
        if self._state:
            return dict(self._state)
        return {f"f{index}": value for index, value in enumerate(self._args)}

    # of what builds up its content after it was made: subclasses of list, dict and set

    def append(self, value: Any) -> None:
        """As the unpickler fills a list."""
        self._state[f"f{len(self._state)}"] = value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._state[str(key)] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.fields().items())
        return f"{self._place[1]}({shown})"

    def __reduce__(self) -> Any:
        return _made, (self._place, self._args), self._state


@cache
def _stand_in_class(place: tuple[str, str]) -> type[StandIn]:
    """The same for all values of a class, wherever they are read, so that they can be compared."""
    module, name = place
    return type(name, (StandIn,), {"__module__": module, "_place": place})


def _made(place: tuple[str, str], args: tuple[Any, ...]) -> StandIn:
    return _stand_in_class(place)(*args)


class _ShowingCodec(SnapshotCodec):
    def decode(self, payload: bytes | memoryview) -> Any:
        if payload[:1] != PICKLE:
            return decode(payload)
        try:
            return _Unpickler(io.BytesIO(memoryview(payload)[1:])).load()
        except Exception as error:
            raise SerializationError(
                f"the state holds a value that cannot be read ({type(error).__name__}: {error})"
            ) from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        try:
            return super().find_class(module_name, global_name)
        except (ImportError, AttributeError):
            return _stand_in_class((module_name, global_name))


SHOWING: SnapshotCodec = _ShowingCodec()
"""Unpickles; what is of a class that is not here becomes a `StandIn`."""


def showing_codec(pickle_allowed: bool = True) -> SnapshotCodec:
    """The codec of who only looks: with stand-ins, if pickles may be read at all."""
    return SHOWING if pickle_allowed else SAFE
