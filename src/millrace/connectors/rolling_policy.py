"""When a part file is finished. Flink docs: "FileSystem", Rolling Policy."""

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
    """A part that is being written: bytes so far, first and last write (ms since the epoch), and
    how many checkpoints were completed meanwhile."""

    bucket_id: str
    size: int
    creation_time: int
    last_update_time: int
    checkpoints: int = 0


class RollingPolicy(ABC):
    """Decides after each batch, at each checkpoint and by processing time.

    >>> policy = RollingPolicy.default_rolling_policy(rollover_interval=1000)
    >>> policy.roll_time(PartFileInfo("", size=10, creation_time=500, last_update_time=900))
    1500
    """

    ends_with_epoch: ClassVar[bool] = False
    """Whether no part is ever continued in another epoch."""

    @abstractmethod
    def should_roll_on_size(self, part: PartFileInfo) -> bool:
        """Whether the part is big enough; called after each batch."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        """Whether to finish the part at this checkpoint."""

    @abstractmethod
    def roll_time(self, part: PartFileInfo) -> int | None:
        """When to finish the part even if nothing more comes (ms since the epoch), or None."""

    @staticmethod
    def default_rolling_policy(
        part_size: int | MemorySize = 128 << 20,
        rollover_interval: Interval = 60_000,
        inactivity_interval: Interval = 60_000,
    ) -> RollingPolicy:
        """A part ends when it is big, old or not written to any more.

        Args:
            part_size: in bytes; the last batch may exceed it.
            rollover_interval: since the first write; whole numbers are ms.
            inactivity_interval: since the last write; whole numbers are ms.

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
        """Each part ends with the checkpoint it was begun in: shortest delay, smallest files."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """Size in bytes; intervals in ms."""

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
    """Only checkpoints end a part."""

    ends_with_epoch: ClassVar[bool] = True

    def should_roll_on_size(self, part: PartFileInfo) -> bool:
        return False

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return True

    def roll_time(self, part: PartFileInfo) -> None:
        return None
