"""The interface to clocks and timers for functions."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Clocks and timers of one operator. All times are milliseconds since the epoch.

    Timers belong to the current key, and there is at most one per key, clock and timestamp:
    registering it again changes nothing. Semantics: Flink docs, "Process Function"
    (section Timers).
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Current time of the machine."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The current event-time watermark; -2**63 before the first one."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` for the current key when processing time passes ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` for the current key when the watermark reaches ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a processing-time timer of the current key; no effect if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete an event-time timer of the current key; no effect if there is none."""
