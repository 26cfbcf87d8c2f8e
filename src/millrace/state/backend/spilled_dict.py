"""Dict with entries in memory and on the local disk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from millrace.state.frozen import MISSING

_get = dict.get
_contains = dict.__contains__


class SpilledDict(dict[Any, Any]):
    """Dict that holds some entries in memory, and loads the others from the local disk when they
    are looked up (`load`).

    Assignment and deletion are those of dict. That is right because a table writes the old value
    to its undo log before it changes an entry, and so has loaded it.
    """

    __slots__ = ()

    @abstractmethod
    def load(self, key: Any) -> Any:
        """Load the value of a key that is not in memory; returns the value, or MISSING."""

    @abstractmethod
    def spilled_items(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values that are only on disk at the beginning of the iteration. The iteration
        does not load them into memory."""

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or ``default``."""
        value = _get(self, key, MISSING)
        if value is MISSING:
            value = self.load(key)
            if value is MISSING:
                return default
        return value

    def __missing__(self, key: Any) -> Any:
        value = self.load(key)
        if value is MISSING:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return _contains(self, key) or self.load(key) is not MISSING

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key; if there is none, set it to ``default`` first."""
        value = self.get(key, MISSING)
        if value is MISSING:
            value = self[key] = default
        return value

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and return its value."""
        self.get(key)
        return super().pop(key, *default)

    def __bool__(self) -> bool:
        return dict.__len__(self) > 0 or next(self.spilled_items(), None) is not None

    def __len__(self) -> int:
        return dict.__len__(self) + sum(1 for _ in self.spilled_items())

    def __iter__(self) -> Iterator[Any]:
        here, rest = list(dict.keys(self)), self.spilled_items()
        yield from here
        for key, _ in rest:
            yield key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and dict(self.items()) == dict(other.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def keys(self) -> Any:
        """All keys."""
        return EntriesView(self, 0)

    def values(self) -> Any:
        """All values."""
        return EntriesView(self, 1)

    def items(self) -> Any:
        """All keys and values."""
        return EntriesView(self, None)


def in_memory(data: dict[Any, Any]) -> Callable[[Any], bool]:
    """Function from a key to whether its entry is in memory, and not only on disk."""
    contains: Callable[[Any], bool] = _contains.__get__(data)
    return contains


class EntriesView:
    """View of the keys (0), values (1) or both (None) of a `SpilledDict`."""

    __slots__ = ("_data", "_which")

    def __init__(self, data: SpilledDict, which: int | None) -> None:
        self._data = data
        self._which = which

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __iter__(self) -> Iterator[Any]:
        here, rest = list(dict.items(self._data)), self._data.spilled_items()
        which = self._which
        for part in (here, rest):
            for entry in part:
                yield entry if which is None else entry[which]
