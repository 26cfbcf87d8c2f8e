"""`Plugins`: objects by name, which this package defines, or the entry points of other installed
packages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from millrace.common.errors import MillraceError

__all__ = ["Plugins"]

T = TypeVar("T")


class Plugins(Mapping[str, T], Generic[T]):
    """Objects of one kind by name. Objects of other packages are loaded at their first use.

    Other packages cannot replace Millrace's own objects. They register classes without arguments
    in the entry point group::

        [project.entry-points."millrace.connectors"]
        kafka2 = "kafka2.table:Kafka2Factory"

    Args:
        group: the entry point group.
        kind: class of the objects.
        noun: noun for an object in messages.
        own: Millrace's own objects.
        error: class of the error for a broken entry point.
    """

    def __init__(
        self,
        group: str,
        kind: type[T],
        noun: str,
        own: Mapping[str, T],
        error: type[MillraceError],
    ) -> None:
        self.group = group
        self._kind: type[Any] = kind
        self._noun = noun
        self._own = own
        self._registered: dict[str, T] = {}
        self._error = error
        self._loaded: dict[EntryPoint, T] = {}

    def register(self, name: str, plugin: T) -> None:
        """Add an object for this process only."""
        self._registered[name] = plugin

    def own(self) -> dict[str, T]:
        """Plug-ins that this package and this process have defined, by name."""
        return {name: self[name] for name in {**self._own, **self._registered}}

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **self._registered, **self._points()})

    def __len__(self) -> int:
        return len({*self._own, *self._registered, *self._points()})

    def __contains__(self, name: object) -> bool:
        known = name in self._registered or name in self._own
        return known or (bool(name) and name in self._points())

    def __getitem__(self, name: str) -> T:
        """The object of a name.

        Raises:
            KeyError: no object has this name.
            MillraceError: it cannot be loaded, or two packages have one of this name.
        """
        for objects in (self._registered, self._own):
            if name in objects:
                return objects[name]
        points = self._points().get(name, ()) if name else ()
        if not points:
            raise KeyError(name)
        if len(points) > 1:
            packages = " and ".join(sorted(map(_package, points)))
            raise self._error(
                f"the {self._noun} '{name}' is registered by {packages} (entry point group "
                f"{self.group}): uninstall one of them"
            )
        [point] = points
        if point not in self._loaded:
            self._loaded[point] = self._load(point)
        return self._loaded[point]

    def _load(self, point: EntryPoint) -> T:
        where = f"the {self._noun} '{point.name}' of {_package(point)} ({point.value})"
        try:
            plugin: T = point.load()()
        except Exception as error:
            raise self._error(
                f"{where} cannot be loaded: {type(error).__name__}: {error}; update the package, "
                "or uninstall it"
            ) from error
        if not isinstance(plugin, self._kind):
            raise self._error(
                f"{where} is not a {self._kind.__name__}: its entry point of the group "
                f"{self.group} has to name such a class"
            )
        return plugin

    def _points(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        return _points_of(self.group, tuple(sys.path))


@lru_cache(maxsize=64)
def _points_of(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name. ``path`` is the import path, which is part of the
    cache's key."""
    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        if point not in points.get(point.name, ()):
            points[point.name] = (*points.get(point.name, ()), point)
    return points


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
