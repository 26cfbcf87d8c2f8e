"""Opening somebody's savepoint must not run code, hang or crash, whatever is in it.

For a minute, savepoints are tampered with and read without leave to pickle, in processes of their
own with a limit of memory. ``FUZZ_SECONDS`` makes it shorter or longer, ``FUZZ_SEED`` repeats a run
that failed. Alone: ``pytest -m fuzz``.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fault_lives import JOBS, environment

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
SEEDS = [20261121, int(os.environ.get("FUZZ_SEED", random.SystemRandom().randrange(1 << 32)))]


@pytest.mark.fault
@pytest.mark.fuzz
@pytest.mark.parametrize("which", ["the same every time", "a random one"])
def test_tampered_savepoints_are_read_or_refused(which: str, tmp_path: Path) -> None:
    """Half of the time with the seed that every run has, half with one of its own."""
    seed = SEEDS[which == "a random one"]
    print(f"FUZZ_SEED={seed}")
    command = [sys.executable, str(JOBS / "fuzz_savepoint.py"), tmp_path, seed, SECONDS / 2]
    done = subprocess.run(
        list(map(str, command)),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS + 120,
        check=False,
    )
    print(done.stdout[-5000:], done.stderr[-5000:])
    assert done.returncode == 0
    assert int(done.stdout.split()[0]) > SECONDS / 6
    assert not (tmp_path / "exploded").exists()
