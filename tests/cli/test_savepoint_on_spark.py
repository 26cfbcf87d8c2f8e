"""A job on Spark is operated from other processes: savepoint, rescaling, stop, on from there."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

Start = Callable[..., "subprocess.Popen[str]"]
PATIENCE = 180

JOB = """
    from millrace.common import Types, WatermarkStrategy
    from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
    from millrace.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(
        lambda index: index, None, RateLimiterStrategy.per_second(100), splits=1
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    tens = numbers.map(lambda n: (n % 10, 1)).key_by(lambda pair: pair[0], key_type=Types.LONG())
    tens.sum(1).uid("sum").map(lambda pair: pair[1]).print()
    env.execute("tens")
"""


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def test_a_job_is_operated_and_goes_on_elsewhere(start: Start, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(textwrap.dedent(JOB))

    def command(*words: str) -> Any:
        code, out, err = finish(start(*words, "--json"))
        assert code == 0, err
        return json.loads(out)

    def begin(*words: str) -> subprocess.Popen[str]:
        process = start("run", *words, "job.py")
        assert process.stdout is not None
        assert process.stdout.readline()  # it has begun
        return process

    def end(process: subprocess.Popen[str]) -> None:
        code, _, err = finish(process)
        assert code == 0, err

    first = begin()
    [job] = command("list")
    assert (job["name"], job["state"]) == ("tens", "running")
    path = command("savepoint", "tens", "kept")["savepoint"]
    assert command("rescale", "tens", "-p", "2")["parallelism"] == 2
    stopped = command("stop", "tens", "--savepoint", "kept")["savepoint"]
    end(first)
    assert [job["state"] for job in command("list")] == ["stopped"]

    lineage = {s["id"]: s for s in command("savepoint", "tree", "kept")}
    assert lineage[Path(stopped).name]["parent"] == Path(path).name
    assert [s["parallelism"] for s in lineage.values()] == [1, 2]
    [changed] = [s for s in command("savepoint", "diff", path, stopped) if s["uid"] == "sum"]
    assert changed["changed"] + changed["added"] > 0

    (tmp_path / "kept").rename(tmp_path / "moved")
    moved = next((tmp_path / "moved").glob(Path(stopped).name))
    second = begin("-s", str(moved), "--parallelism", "1", "--name", "fork")
    command("cancel", "fork")
    end(second)
    assert {job["name"] for job in command("list")} == {"tens", "fork"}
