"""`PlanningLauncher`: writes the programs of jobs in place of running them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NoReturn

from millrace.datastream.job_launcher import JobLauncher
from millrace.state.serialization.pickles import dump_code


class PlannedError(Exception):
    """A job is planned; it is not to run."""


class PlanningLauncher(JobLauncher):
    """Writes the program of a job to a file, and then raises a `PlannedError`.

    It is in a module of its own because the classes of a user's program go to all workers.
    """

    path: ClassVar[Path]

    def graph(self, *args: Any, **named: Any) -> NoReturn:
        graph = super().graph(*args, **named)
        self.path.write_bytes(dump_code(graph.program, lambda: "the job"))
        raise PlannedError
