"""Rolling policies, which decide when a part file is finished. Flink docs: "FileSystem", Rolling
Policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration, Time, millis

__all__ = ["DefaultRollingPolicy", "OnCheckpointRollingPolicy", "PartFileInfo", "RollingPolicy"]

Interval = Duration | Time | timedelta | int


@dataclass(frozen=True, slots=True)
class PartFileInfo:
    """An open part: its size in bytes, the times of its first and last write (ms since the
    epoch), and the number of checkpoints completed since it was opened."""

    bucket_id: str
    size: int
    creation_time: int
    last_update_time: int
    checkpoints: int = 0


class RollingPolicy(ABC):
    """Decides on the end of parts after each batch, at each checkpoint and by processing time.

    >>> policy = RollingPolicy.default_rolling_policy(rollover_interval=1000)
    >>> policy.roll_time(PartFileInfo("", size=10, creation_time=500, last_update_time=900))
    1500
    """

    ends_with_epoch: ClassVar[bool] = False
    """Whether no part is ever continued in another epoch."""

    @abstractmethod
    def should_roll_on_size(self, part: PartFileInfo) -> bool:
        """Whether the part is large enough; called after each batch."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        """Whether the part ends at this checkpoint."""

    @abstractmethod
    def roll_time(self, part: PartFileInfo) -> int | None:
        """Time at which the part ends even without further records (ms since the epoch), or
        None."""

    @staticmethod
    def default_rolling_policy(
        part_size: int | MemorySize = 128 << 20,
        rollover_interval: Interval = 60_000,
        inactivity_interval: Interval = 60_000,
    ) -> RollingPolicy:
        """Policy that ends a part when it is large, old or idle.

        Args:
            part_size: maximum size in bytes, which the last batch may exceed.
            rollover_interval: maximum time since the first write; a number is in ms.
            inactivity_interval: maximum time since the last write; a number is in ms.

        Raises:
            JobDefinitionError: one of them is not positive.
        """
        size = part_size.get_bytes() if isinstance(part_size, MemorySize) else part_size
        policy = DefaultRollingPolicy(size, millis(rollover_interval), millis(inactivity_interval))
        if min(policy.part_size, policy.rollover_interval, policy.inactivity_interval) <= 0:
            raise JobDefinitionError(f"size and intervals must be positive: {policy}")
        return policy

    @staticmethod
    def on_checkpoint_rolling_policy() -> RollingPolicy:
        """Policy that ends each part at the next checkpoint: shortest delay, smallest files."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """Ends parts by size in bytes and by intervals in ms."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    def should_roll_on_size(self, part: PartFileInfo) -> bool:
        return part.size >= self.part_size

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return part.size >= self.part_size

    def roll_time(self, part: PartFileInfo) -> int:
        return min(
            part.creation_time + self.rollover_interval,
            part.last_update_time + self.inactivity_interval,
        )


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """Ends parts only at checkpoints."""

    ends_with_epoch: ClassVar[bool] = True

    def should_roll_on_size(self, part: PartFileInfo) -> bool:
        return False

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return True

    def roll_time(self, part: PartFileInfo) -> None:
        return None
