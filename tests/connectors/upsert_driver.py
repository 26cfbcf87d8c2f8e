"""Drivers of `upsert_job`, one process after the other, each killed somewhere."""

from __future__ import annotations

import signal
from pathlib import Path

from killed_job import KilledJob


class UpsertDriver(KilledJob):
    """The job, with its checkpoints in a directory."""

    script = Path(__file__).parent / "upsert_job.py"

    def __init__(
        self,
        database: str,
        place: str,
        directory: Path,
        count: int,
        executor: str,
        logged: bool = False,
    ) -> None:
        super().__init__(directory)
        self.executor = executor
        self._arguments = [database, place, str(directory / "checkpoints"), str(count)]
        if logged:
            self._arguments.append("logged")

    def arguments(self) -> list[str]:
        return self._arguments

    def run_through_kills(self) -> None:
        """Killed before, in and after checkpoints, then to the end."""
        for trap in ("after-acks:2", "during-metadata:3", "after-metadata:2"):
            assert self.run(trap) == -signal.SIGKILL, self.log
        assert self.run() == 0, self.log
