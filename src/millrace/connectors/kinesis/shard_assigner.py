"""Assignment of shards to subtasks. Flink: interface ``KinesisShardAssigner``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from zlib import crc32

from millrace.connectors.kinesis.shard_split import KinesisShardSplit

__all__ = ["KinesisShardAssigner"]

_HASH_KEYS = 1 << 128
"""Number of all hash keys."""


class KinesisShardAssigner(ABC):
    """Chooses a subtask for each shard, instead of the subtask with the fewest shards.

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
        """A number; its remainder modulo the number of subtasks is the index of the shard's
        subtask.

        It must depend on nothing else.
        """

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Assigner by a hash of the names of stream and shard."""
        return _ByName()

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Assigner by the middle of a shard's hash key range, so that subtasks have equal parts
        of the range. If the records' keys are random, all subtasks have the same load."""
        return _ByHashKeys()


class _ByName(KinesisShardAssigner):
    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        return crc32(shard.split_id.encode())


class _ByHashKeys(KinesisShardAssigner):
    """Assigns shards by their hash key ranges. Each stream begins at a different subtask, so that
    the first subtask does not get the first shard of every stream.
    """

    def assign(self, shard: KinesisShardSplit, num_parallel_subtasks: int) -> int:
        middle = sum(shard.hash_range) // 2
        return middle * num_parallel_subtasks // _HASH_KEYS + crc32(shard.stream.encode())
