"""`LookupFunction` and `AsyncLookupFunction`: rows of a table by key, for look-up joins.

Flink: ``LookupFunction`` and ``AsyncLookupFunction`` of ``LookupTableSource`` (FLIP-221); here they
are asked for many keys at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["AsyncLookupFunction", "Key", "LookupFunction", "Rows", "ScanningLookupFunction"]

Key = tuple[Any, ...]
"""A value per key column, in their order, as Arrow's ``to_pylist`` gives it; none is null."""
Rows = Mapping[Key, Sequence[Sequence[Any]]]
"""The rows of each key, each a value per wanted column. Keys without rows may be left out."""


class LookupFunction(ABC):
    """Looks keys up in a table, one call at a time. It is pickled before `open`.

    Example:
        >>> class Squares(LookupFunction):
        ...     def lookup(self, keys):
        ...         return {(n,): [(n, n * n)] for (n,) in keys}
        >>> Squares().lookup([(3,)])
        {(3,): [(3, 9)]}
    """

    batch_size = 500
    """The most keys in one call."""

    def open(self) -> None:
        """Connect; called once in the worker, before the first look-up."""

    @abstractmethod
    def lookup(self, keys: Sequence[Key]) -> Rows:
        """The rows of distinct keys.

        Raises:
            Exception: any; the look-up is then retried or the job fails, as its options say.
        """

    def close(self) -> None:
        """Disconnect; must not raise."""


class ScanningLookupFunction(LookupFunction):
    """A look-up that can also read the whole table, for ``'lookup.cache' = 'FULL'``. Flink:
    ``FullCachingLookupProvider``.

    Example:
        >>> class Squares(ScanningLookupFunction):
        ...     def lookup(self, keys):
        ...         return {(n,): [(n, n * n)] for (n,) in keys}
        ...     def scan(self):
        ...         return (((n,), (n, n * n)) for n in range(3))
        >>> list(Squares().scan())
        [((0,), (0, 0)), ((1,), (1, 1)), ((2,), (2, 4))]
    """

    @abstractmethod
    def scan(self) -> Iterable[tuple[Key, Sequence[Any]]]:
        """All rows with their keys; keys may contain nulls.

        Raises:
            Exception: any; it is then read again or the job fails, as its options say.
        """


class AsyncLookupFunction(ABC):
    """Looks keys up in a table, with several calls under way at a time. It is pickled before
    `open`; calls run in one event loop.

    Example:
        >>> import asyncio
        >>> class Squares(AsyncLookupFunction):
        ...     async def lookup(self, keys):
        ...         return {(n,): [(n, n * n)] for (n,) in keys}
        >>> asyncio.run(Squares().lookup([(3,)]))
        {(3,): [(3, 9)]}
    """

    batch_size = 500
    """The most keys in one call."""

    def open(self) -> None:
        """Connect; called once in the worker, before the first look-up."""

    @abstractmethod
    async def lookup(self, keys: Sequence[Key]) -> Rows:
        """The rows of distinct keys.

        Raises:
            Exception: any; the look-up is then retried or the job fails, as its options say.
        """

    def close(self) -> None:
        """Disconnect; must not raise."""
