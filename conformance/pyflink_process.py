"""PyFlink in a process of its own: in the environment that benchmarks/peers/setup.sh prepares, or
that MILLRACE_BENCH_PYFLINK_PYTHON names."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.program import HOME

ROOT = HOME.parent
START_SECONDS = 60
PROGRAM_SECONDS = 30
"""PyFlink gets so long on average, with a wide margin."""
LOG_CHARACTERS = 2000


def run_pyflink(module: str, arguments: list[str], programs: int) -> None:
    """Run one of this package's modules for so many programs, and wait. What PyFlink logs is shown
    only if it fails: Flink says much when a job ends."""
    command = [_python(), "-m", module, *arguments]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    limit = START_SECONDS + PROGRAM_SECONDS * programs
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        try:
            with log.open("w") as file:
                subprocess.run(command, check=True, cwd=ROOT, env=path, stderr=file, timeout=limit)
        except subprocess.TimeoutExpired:
            print(f"PyFlink was stopped after {limit} s")
        except subprocess.CalledProcessError as error:
            sys.exit(f"PyFlink failed:\n{log.read_text()[-LOG_CHARACTERS:]}\n{error}")


def _python() -> str:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from peers_python import peer_python  # type: ignore[import-not-found]

    return str(peer_python("pyflink"))
