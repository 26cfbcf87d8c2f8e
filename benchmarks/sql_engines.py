"""Runs the same SQL on millrace and on Flink's own runtime, each in one process of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bar import Data
from engines import PEERS
from job_process import MeasurementError, run, run_ours
from nexmark_suite import QUERIES, tables
from peers_python import peer_python

__all__ = ["SqlRun", "compared", "nexmark_seconds", "rate_of"]

SqlRun = tuple[Sequence[str], str]
"""The statements that declare the tables, and the query."""
WARM_UP = 10_000
TIMEOUT = 600.0
LEAST_DIFFERENCE = 0.25
"""The second run must take so much longer than the first, or noise is all there is to see."""


def compared(runs: Mapping[str, Sequence[SqlRun]]) -> Data:
    """The seconds of each run by name, of ``ours`` and of ``flink``; a text where it failed.

    Raises:
        MeasurementError: an engine ends early.
    """
    first = {"warm-up": [(tables(WARM_UP), QUERIES["q0"].text)]}
    runs = {**first, **runs}
    return {"ours": _seconds(runs, None, TIMEOUT), "flink": _seconds(runs, "flink", TIMEOUT)}


def _seconds(runs: Mapping[str, Sequence[SqlRun]], engine: str | None, timeout: float) -> Data:
    """Seconds of each run by name, all in one process; a text where it failed.

    Args:
        engine: ``flink``, or an executor of ours; None for the default one.

    Raises:
        MeasurementError: the process ends early.
    """
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        file = Path(scratch) / "runs.json"
        file.write_text(json.dumps(runs), encoding="utf-8")
        if engine == "flink":
            return run([peer_python("pyflink"), PEERS / "sql_peer.py", file], timeout=timeout)
        executor = () if engine is None else ("--executor", engine)
        return run_ours("sql_runs.py", file, *executor, timeout=timeout)


def nexmark_seconds(
    name: str, sizes: Sequence[int], engine: str, timeout: float
) -> list[float] | str:
    """Seconds of a query of Nexmark with each number of events, in one process; or the reason of a
    failure.

    Args:
        engine: ``flink``, or an executor of ours.
        timeout: seconds of all runs together.
    """
    runs = {name: [(tables(size), QUERIES[name].text) for size in sizes]}
    try:
        done = _seconds(runs, engine, timeout)
    except MeasurementError as error:
        return str(error)
    seconds: list[float] | str = done[name]
    return seconds


def rate_of(sizes: Sequence[int], seconds: Any) -> float | None:
    """Rows per second without the start-up, which a small and a large run share; None: it failed.
    Where noise hides the difference the large run counts with its start-up."""
    if isinstance(seconds, str):
        return None
    small, large = seconds
    if large - small < LEAST_DIFFERENCE * small:
        return float(sizes[1] / large)
    return float((sizes[1] - sizes[0]) / (large - small))
