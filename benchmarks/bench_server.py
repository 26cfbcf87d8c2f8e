"""A real job server for measurements of it and of the jobs it runs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from job_process import LOGS, MeasurementError, our_environment

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "server"))

from running_server import SPARK, WITHOUT_SPARK, RunningServer, await_that

__all__ = ["TESTS", "WITHOUT_SPARK", "RunningServer", "await_that", "bench_server"]

TESTS = Path(__file__).resolve().parent.parent / "tests" / "server"


@contextmanager
def bench_server(program: Sequence[str] = SPARK) -> Iterator[RunningServer]:
    """A server with uploads and without tokens, which ends with the block.

    Raises MeasurementError when what was waited for never comes.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        try:
            server = RunningServer(
                Path(scratch) / "server",
                program=program,
                environment=our_environment(),
                out=LOGS / "bench_server.log",
            )
            try:
                yield server
            finally:
                server.end()
        except AssertionError as error:
            raise MeasurementError(f"{error}; see bench_server.log") from error
