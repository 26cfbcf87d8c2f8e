"""The peers' interpreters, each in a virtual environment of its own."""

from __future__ import annotations

import os
import subprocess
from functools import cache

from job_process import BENCHMARKS, MeasurementError

VARIABLES = {
    "pyflink": "MILLRACE_BENCH_PYFLINK_PYTHON",
    "spark": "MILLRACE_BENCH_SPARK_PYTHON",
}


def peer_python(peer: str) -> str:
    """The interpreter of ``pyflink`` or ``spark``: an environment variable names it, or
    ``peers/setup.sh`` prepares it. Raises MeasurementError when that fails."""
    return os.environ.get(VARIABLES[peer]) or _prepared(peer)


@cache
def _prepared(peer: str) -> str:
    script = BENCHMARKS / "peers" / "setup.sh"
    done = subprocess.run([script, peer], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MeasurementError(f"peers/setup.sh failed: {done.stderr.strip()[-300:]}")
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)[peer]


def package_version(peer: str, package: str) -> str:
    """Version of a package in a peer's environment; "?" when it cannot be told."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    try:
        command = [peer_python(peer), "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except (MeasurementError, OSError):
        return "?"
    return done.stdout.strip() or "?"
