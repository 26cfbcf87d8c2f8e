"""Iterations on graphs whose workers, executors or driver are killed: the result is exact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fault_lives import JOBS, environment

pytestmark = [pytest.mark.fault, pytest.mark.spark, pytest.mark.torture]

KILLS = 20
LENGTH = 120
MASTERS = {"worker": "local[2]", "driver": "local[2]", "executor": "local-cluster[2,1,1024]"}


@pytest.mark.parametrize("victim", ["worker", "executor", "driver"])
def test_an_iteration_survives_twenty_kills(tmp_path: Path, victim: str) -> None:
    command = [sys.executable, str(JOBS / "graph_job.py"), MASTERS[victim], str(tmp_path), victim]
    lives = KILLS + 1 if victim == "driver" else 1
    for _ in range(lives):
        life = subprocess.run(
            [*command, "1", str(KILLS)],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        if life.returncode == 0:
            break
    assert life.returncode == 0, life.stderr[-3000:]
    assert len(list((tmp_path / "killed").iterdir())) == KILLS
    values = json.loads((tmp_path / "result.json").read_text())
    assert values == [[number, 0] for number in range(LENGTH)]
    assert not list((tmp_path / "checkpoints").iterdir())
