"""Programs in processes of their own, and what came of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import millrace

JOBS = Path(__file__).parent


def environment(**extra: str) -> dict[str, str]:
    """The variables of a process that finds millrace and the fault tests' jobs."""
    source = Path(millrace.__file__).parents[1]
    path = os.pathsep.join([str(source), str(JOBS), os.environ.get("PYTHONPATH", "")])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MILLRACE_")}
    return {**kept, "PYTHONPATH": path.strip(os.pathsep), **extra}


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
