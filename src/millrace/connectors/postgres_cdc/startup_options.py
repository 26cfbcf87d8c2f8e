"""Start position of a job that is not resumed from a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["StartupMode", "StartupOptions"]


class StartupMode(Enum):
    """Startup modes, with the values of Flink CDC's option ``scan.startup.mode``."""

    INITIAL = "initial"
    SNAPSHOT = "snapshot"
    LATEST_OFFSET = "latest-offset"
    COMMITTED_OFFSETS = "committed-offset"


@dataclass(frozen=True)
class StartupOptions:
    """Start position of a job that is not resumed from a checkpoint. Flink CDC: ``StartupOptions``.

    Example:
        >>> StartupOptions.latest().mode.value
        'latest-offset'
    """

    mode: StartupMode

    @staticmethod
    def initial() -> StartupOptions:
        """Read the rows of the tables, then their changes."""
        return StartupOptions(StartupMode.INITIAL)

    @staticmethod
    def snapshot() -> StartupOptions:
        """Read the rows of the tables, as of one moment, and end."""
        return StartupOptions(StartupMode.SNAPSHOT)

    @staticmethod
    def latest() -> StartupOptions:
        """Read the changes from now on."""
        return StartupOptions(StartupMode.LATEST_OFFSET)

    @staticmethod
    def committed() -> StartupOptions:
        """Read changes from the position of the replication slot, which must exist."""
        return StartupOptions(StartupMode.COMMITTED_OFFSETS)

    @property
    def reads_tables(self) -> bool:
        """Whether the source starts by reading the rows of the tables."""
        return self.mode in {StartupMode.INITIAL, StartupMode.SNAPSHOT}
