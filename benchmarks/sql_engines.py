"""Runs the same SQL on millrace and on Flink's own runtime, each in one process of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bar import Data
from engines import PEERS
from job_process import run, run_ours
from nexmark_suite import QUERIES, tables
from peers_python import peer_python

__all__ = ["SqlRun", "compared", "rate_of"]

SqlRun = tuple[Sequence[str], str]
"""The statements that declare the tables, and the query."""
WARM_UP = 10_000
TIMEOUT = 600.0
LEAST_DIFFERENCE = 0.25
"""The second run must take so much longer than the first, or noise is all there is to see."""


def compared(runs: Mapping[str, Sequence[SqlRun]], rounds: int = 1) -> Data:
    """The seconds of each run by name, of ``ours`` and of ``flink``; a text where it failed.

    Args:
        rounds: how often both run, in turn. The least time of each run counts: whatever disturbs
            a run makes it longer.

    Raises:
        MeasurementError: an engine ends early.
    """
    first = {"warm-up": [(tables(WARM_UP), QUERIES["q0"].text)]}
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        file = Path(scratch) / "runs.json"
        file.write_text(json.dumps({**first, **runs}), encoding="utf-8")
        peer = [peer_python("pyflink"), PEERS / "sql_peer.py", file]
        each = [
            {
                "ours": run_ours("sql_runs.py", file, timeout=TIMEOUT),
                "flink": run(peer, timeout=TIMEOUT),
            }
            for _ in range(rounds)
        ]
    return {
        engine: {name: _least([of[engine][name] for of in each]) for name in each[0][engine]}
        for engine in ("ours", "flink")
    }


def _least(rounds: Sequence[Any]) -> Any:
    """The least seconds of each size; the text of a round that failed."""
    failed = [seconds for seconds in rounds if isinstance(seconds, str)]
    return failed[0] if failed else [min(of_size) for of_size in zip(*rounds, strict=True)]


def rate_of(sizes: Sequence[int], seconds: Any) -> float | None:
    """Rows per second without the start-up, which a small and a large run share; None: it failed.
    Where noise hides the difference the large run counts with its start-up."""
    if isinstance(seconds, str):
        return None
    small, large = seconds
    if large - small < LEAST_DIFFERENCE * small:
        return float(sizes[1] / large)
    return float((sizes[1] - sizes[0]) / (large - small))
