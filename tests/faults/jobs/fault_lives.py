"""Programs in processes of their own, and what came of them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import millrace

JOBS = Path(__file__).parent
_ARCHIVE = "MILLRACE_CLASS_ARCHIVE"


def environment(**extra: str) -> dict[str, str]:
    """The variables of a process that finds millrace and the fault tests' jobs."""
    source = Path(millrace.__file__).parents[1]
    path = os.pathsep.join([str(source), str(JOBS), os.environ.get("PYTHONPATH", "")])
    variables = os.environ.items()
    kept = {k: v for k, v in variables if not k.startswith("MILLRACE_") or k == _ARCHIVE}
    return {**kept, "PYTHONPATH": path.strip(os.pathsep), **extra}


def fuzz_seeds(known: int) -> list[int]:
    """The seed that every run has, and one of its own or that of the variable ``FUZZ_SEED``.

    In CI, where a run decides about a change, the other is the same every time too.
    """
    chance = random.Random(known) if "CI" in os.environ else random.SystemRandom()
    return [known, int(os.environ.get("FUZZ_SEED", chance.randrange(1 << 32)))]


def fuzz(program: str, directory: Path, seed: int, cases: int) -> None:
    """Have a program of this directory try so many cases, in a process that may be lost; the
    variable ``FUZZ_CASES`` has another number."""
    cases = int(os.environ.get("FUZZ_CASES", cases))
    print(f"FUZZ_SEED={seed}")
    done = subprocess.run(
        [sys.executable, str(JOBS / program), str(directory), str(seed), str(cases)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300 + 2 * cases,
        check=False,
    )
    print(done.stdout[-5000:], done.stderr[-5000:])
    assert done.returncode == 0
    assert done.stdout.endswith(f"{cases} cases\n")


@dataclass
class Life:
    """What a driver came to."""

    status: int
    seen: dict[str, list[Any]]
    """Per sink, what readers saw after its end."""


@dataclass
class Lives:
    """The drivers that ran on one job directory, one after the other."""

    directory: Path
    drivers: list[Life] = field(default_factory=list)
    errors: str = ""
