"""Runs on resident tasks that are cut into flushes and barriers at random places."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.resident_tasks import local_resident_executor

__all__ = ["RESIDENT_CUTS", "ResidentCut"]


@dataclass(frozen=True)
class ResidentCut:
    """How a run on resident tasks is cut.

    Attributes:
        buffer_timeout: seconds after which operators are flushed; 0: after each record. None: only
            before barriers.
        barrier_interval: milliseconds between barriers.
    """

    buffer_timeout: float | None
    barrier_interval: int

    def executor(self) -> ResidentExecutor:
        """An executor with two tasks, in threads."""
        settings = ResidentSettings(self.barrier_interval, self.buffer_timeout)
        return local_resident_executor(2, settings)


RESIDENT_CUTS = st.builds(
    ResidentCut, st.sampled_from([0, 0.0005, 0.005, None]), st.sampled_from([2, 10, 100])
)
