"""Sinks that find and delete the leftovers of failed attempts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

__all__ = ["SupportsOrphanSweep"]


class SupportsOrphanSweep(ABC):
    """Addition to `Sink` through which the engine deletes leftovers periodically."""

    def work_files(self, state: Any) -> Collection[str]:
        """Uncommitted files that a writer's state (or None) refers to. Empty by default, for
        writers whose files do not outlast an epoch."""
        return ()

    @abstractmethod
    def sweep(self, in_use: Collection[str], run_ids: Collection[str], older_than: int) -> None:
        """Delete the leftovers of failed attempts. It is called in the driver, in a thread of its
        own, and only by the run that owns the job.

        Args:
            in_use: files that the job's writers refer to (`work_files`).
            run_ids: the job's runs, including this one; files of other runs must stay.
            older_than: minimum age in ms; an attempt may still be writing younger files.
        """
