"""A dict whose content is partly on the local disk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from millrace.state.frozen import MISSING

_get = dict.get
_contains = dict.__contains__


class SpilledDict(dict[Any, Any]):
    """As a dict it holds what is in memory; looking for anything else asks `load`.

    Assignment and deletion are those of dict: whoever changes an entry has noted before what it
    was, and so has fetched it.
    """

    __slots__ = ()

    @abstractmethod
    def load(self, key: Any) -> Any:
        """The value that is not in memory, put there, or MISSING."""

    @abstractmethod
    def elsewhere(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values of what is not in memory when the iteration begins; nothing of it is
        put there."""

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
        """The value of a key, which becomes ``default`` if it has none."""
        value = self.get(key, MISSING)
        if value is MISSING:
            value = self[key] = default
        return value

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and give its value."""
        self.get(key)
        return super().pop(key, *default)

    def __bool__(self) -> bool:
        return dict.__len__(self) > 0 or next(self.elsewhere(), None) is not None

    def __len__(self) -> int:
        return dict.__len__(self) + sum(1 for _ in self.elsewhere())

    def __iter__(self) -> Iterator[Any]:
        here, rest = list(dict.keys(self)), self.elsewhere()
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
        return Items(self, 0)

    def values(self) -> Any:
        """All values."""
        return Items(self, 1)

    def items(self) -> Any:
        """All keys and values."""
        return Items(self, None)


def in_memory(data: dict[Any, Any]) -> Callable[[Any], bool]:
    """Whether a key is in memory."""
    found: Callable[[Any], bool] = _contains.__get__(data)
    return found


class Items:
    """Goes through the entries of a `SpilledDict`: keys (0), values (1) or both (None)."""

    __slots__ = ("_data", "_which")

    def __init__(self, data: SpilledDict, which: int | None) -> None:
        self._data = data
        self._which = which

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __iter__(self) -> Iterator[Any]:
        here, rest = list(dict.items(self._data)), self._data.elsewhere()
        which = self._which
        for part in (here, rest):
            for entry in part:
                yield entry if which is None else entry[which]
