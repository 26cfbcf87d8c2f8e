"""Where a job begins that does not go on from a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["StartupMode", "StartupOptions"]


class StartupMode(Enum):
    """The values are those of Flink CDC's option ``scan.startup.mode``."""

    INITIAL = "initial"
    SNAPSHOT = "snapshot"
    LATEST_OFFSET = "latest-offset"
    COMMITTED_OFFSETS = "committed-offset"


@dataclass(frozen=True)
class StartupOptions:
    """Where a job begins that does not go on from a checkpoint. Flink CDC: ``StartupOptions``.

    Example:
        >>> StartupOptions.latest().mode.value
        'latest-offset'
    """

    mode: StartupMode

    @staticmethod
    def initial() -> StartupOptions:
        """Read what is in the tables, then their changes."""
        return StartupOptions(StartupMode.INITIAL)

    @staticmethod
    def snapshot() -> StartupOptions:
        """Read what is in the tables, as of one moment, and end."""
        return StartupOptions(StartupMode.SNAPSHOT)

    @staticmethod
    def latest() -> StartupOptions:
        """Read changes that are made from now on."""
        return StartupOptions(StartupMode.LATEST_OFFSET)

    @staticmethod
    def committed() -> StartupOptions:
        """Read changes from where the replication slot is, which must be there."""
        return StartupOptions(StartupMode.COMMITTED_OFFSETS)

    @property
    def reads_tables(self) -> bool:
        """Whether it begins with what is in the tables."""
        return self.mode in {StartupMode.INITIAL, StartupMode.SNAPSHOT}
