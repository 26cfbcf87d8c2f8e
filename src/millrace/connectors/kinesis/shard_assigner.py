"""Which subtask reads which shard. Flink: interface ``KinesisShardAssigner``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from zlib import crc32

from millrace.connectors.kinesis.shard_split import KinesisShardSplit

__all__ = ["KinesisShardAssigner"]

_HASH_KEYS = 1 << 128
"""How many there are."""


class KinesisShardAssigner(ABC):
    """Chooses a subtask for each shard, in place of the one with the fewest shards.

    Example:
        >>> first, second = (
        ...     KinesisShardSplit(f"s:{i}", "s", str(i), None, (i << 127, (i + 1 << 127) - 1))
        ...     for i in range(2)
        ... )
        >>> uniform = KinesisShardAssigner.uniform_shard_assigner()
        >>> (uniform.assign(second, 8) - uniform.assign(first, 8)) % 8
        4
    """

    @abstractmethod
    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        """A number whose rest, divided by the number of subtasks, is that of the shard's subtask.

        It must depend on nothing else.
        """

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """By a hash of the names of stream and shard."""
        return _ByName()

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """By the middle of a shard's hash keys, so subtasks have equal parts of them: even loads if
        the keys of records are drawn at random."""
        return _ByHashKeys()


class _ByName(KinesisShardAssigner):
    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        return crc32(shard.split_id.encode())


class _ByHashKeys(KinesisShardAssigner):
    """Another stream begins at another subtask, so that the first of them has not the first shards
    of all."""

    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        middle = sum(shard.hash_range) // 2
        return middle * num_parallel_subtasks // _HASH_KEYS + crc32(shard.stream.encode())
