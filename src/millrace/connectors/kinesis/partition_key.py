"""Partition keys, which determine the shard of a record."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobDefinitionError

__all__ = ["PartitionKeyGenerator"]


class PartitionKeyGenerator:
    """Gives each record its partition key; Kinesis keeps records with the same key in one shard.

    Example:
        >>> PartitionKeyGenerator.of(lambda order: order["customer"]).key({"customer": "ada"}, 0)
        'ada'
    """

    def __init__(self, function: Callable[[Any], str] | None, fixed: bool = False) -> None:
        self._function = function
        self._fixed = fixed

    @staticmethod
    def of(function: Callable[[Any], str]) -> PartitionKeyGenerator:
        """A generator that calls a function of the record.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(function):
            raise JobDefinitionError(
                f"PartitionKeyGenerator.of() takes a function, not {function!r}"
            )
        return PartitionKeyGenerator(function)

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """A generator with one key for all records of a subtask."""
        return PartitionKeyGenerator(None, fixed=True)

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """A generator with a new key for every record, which spreads records evenly, without an
        order."""
        return PartitionKeyGenerator(None)

    def key(self, value: Any, subtask: int) -> str:
        """The partition key of a record."""
        if self._function is not None:
            return self._function(value)
        return str(subtask) if self._fixed else f"{random.getrandbits(64):016x}"
