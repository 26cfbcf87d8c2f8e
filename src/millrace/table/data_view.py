"""Collections in the accumulator of an aggregate function. PyFlink: ``pyflink.table.data_view``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Any, Generic, TypeVar

from millrace.table_runtime.process_state import StateListView, StateMapView

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection that is part of an accumulator."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all elements."""


class ListView(DataView, Generic[T]):
    """A list that is part of an accumulator.

    Example:
        >>> words = ListView()
        >>> words.add("to")
        >>> words.add_all(["be", "or"])
        >>> list(words.get())
        ['to', 'be', 'or']
    """

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """The elements, in order."""
        return self._list

    def add(self, value: T) -> None:
        """Append an element."""
        self._list.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        """Append elements."""
        self._list.extend(values)

    def clear(self) -> None:
        self._list = []

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ListView({self._list!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> ListView[T]:
        # elements are values of SQL, which nobody changes
        made = copy(self)
        made._list = list(self._list)
        return made


class MapView(DataView, Generic[K, V]):
    """A dict that is part of an accumulator.

    Example:
        >>> counts = MapView()
        >>> counts.put("to", 1)
        >>> counts["be"] = 2
        >>> counts.get("to"), counts.contains("or"), dict(counts.items())
        (1, False, {'to': 1, 'be': 2})
    """

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V:
        """The value of a key.

        Raises:
            KeyError: the map has no such key.
        """
        return self._dict[key]

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._dict[key] = value

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of some keys."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key.

        Raises:
            KeyError: the map has no such key.
        """
        del self._dict[key]

    def contains(self, key: K) -> bool:
        """Whether a key has a value."""
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Keys with their values."""
        return self._dict.items()

    def keys(self) -> Iterable[K]:
        """The keys that have values."""
        return self._dict.keys()

    def values(self) -> Iterable[V]:
        """The values."""
        return self._dict.values()

    def is_empty(self) -> bool:
        """Whether the map is empty."""
        return not self._dict

    def clear(self) -> None:
        self._dict = {}

    __getitem__, __setitem__, __delitem__, __contains__ = get, put, remove, contains

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"MapView({self._dict!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> MapView[K, V]:
        # keys and values are values of SQL, which nobody changes
        made = copy(self)
        made._dict = dict(self._dict)
        return made


ListView.register(StateListView)
MapView.register(StateMapView)
