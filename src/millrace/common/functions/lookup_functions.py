"""`LookupFunction` and `AsyncLookupFunction`: rows of a table by key, for look-up joins.

Flink: ``LookupFunction`` and ``AsyncLookupFunction`` of ``LookupTableSource`` (FLIP-221); here they
are asked for many keys at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["AsyncLookupFunction", "Key", "LookupFunction", "Rows"]

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
