"""The page "Fix a bug and go on" through the real command, on Spark, rescaled on the way."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

Start = Callable[..., "subprocess.Popen[str]"]
EXAMPLE = Path(__file__).parents[2] / "docs" / "savepoints" / "examples" / "fix_a_bug"
PATIENCE = 180


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """What a job prints next, without the numbers of subtasks."""
    assert process.stdout is not None
    return sorted(process.stdout.readline().strip().rpartition("> ")[2] for _ in range(count))


@pytest.mark.turns(7)
def test_a_bug_is_fixed(start: Start, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    (tmp_path / "input").mkdir()

    def command(*words: str) -> Any:
        code, out, err = finish(start(*words, "--json"))
        assert code == 0, err
        return json.loads(out)

    def arrives(name: str) -> None:
        (tmp_path / name).rename(tmp_path / "input" / name)

    arrives("monday.csv")
    wrong = start("run", "revenue.py")
    assert lines(wrong, 2) == ["ann: 20", "bob: 35"]
    [job] = command("list")
    assert (job["name"], job["state"]) == ("revenue", "running")
    monday = command("savepoint", "revenue", "kept")["savepoint"]
    assert command("rescale", "revenue", "-p", "2")["parallelism"] == 2
    arrives("tuesday.csv")
    assert lines(wrong, 2) == ["ann: 25", "bob: 70"]
    tuesday = command("stop", "revenue", "--savepoint", "kept")["savepoint"]
    code, _, err = finish(wrong)
    assert code == 0, err
    assert "job 'revenue' was asked to stop" in err
    assert [job["state"] for job in command("list")] == ["stopped"]

    known = {s["id"]: s for s in command("savepoint", "tree", "kept")}
    assert known[Path(tuesday).name]["parent"] == Path(monday).name
    assert [s["parallelism"] for s in known.values()] == [1, 2]
    states = command("savepoint", "diff", monday, tuesday)
    assert [s["changed"] for s in states if s["state"] == "sum"] == [2]

    (tmp_path / "kept").rename(tmp_path / "moved")
    good = tmp_path / "moved" / Path(monday).name
    fixed = start("run", "-s", str(good), "--name", "fixed", "revenue_fixed.py")
    assert lines(fixed, 2) == ["ann: 25", "bob: 0"]
    command("cancel", "fixed")
    code, _, err = finish(fixed)
    assert code == 0, err
    assert {job["name"] for job in command("list")} == {"revenue", "fixed"}
