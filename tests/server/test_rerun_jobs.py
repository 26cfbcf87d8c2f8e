"""Jobs that died between a checkpoint and its commits are run once more by a real server."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from running_server import JOBS, RunningServer, await_that

from millrace.filesystem.crash_points import VARIABLE


def test_the_first_rerun_commits_what_was_pending(tmp_path: Path) -> None:
    trap = {**os.environ, VARIABLE: "before-sink-commit:3"}
    out = tmp_path / "out"
    server = RunningServer(tmp_path / "server", environment=trap)
    try:
        settings = {"restart-strategy.type": "none"}
        first = server.submit(JOBS / "counting.py", out, configuration=settings)
        await_that(lambda: server.get(f"/jobs/{first}")["state"] == "FAILED", "the death")
        committed = written(out)
        snapshots = []
        for _ in range(2):  # each dies as the first job did
            answer = server.http.post(f"/jobs/{first}/rerun", json={"start": "checkpoint"})
            assert answer.is_success, answer.text
            answer = answer.json()
            rerun = answer["jobid"]
            snapshots.append(answer["snapshot"])
            server.jobs.append(rerun)
            await_that(lambda rerun=rerun: server.get(f"/jobs/{rerun}")["state"] == "FAILED", "end")
            assert "has died" in server.get(f"/jobs/{rerun}")["error"]
            if len(snapshots) == 1:
                numbers = written(out)
                assert numbers == list(range(1, len(numbers) + 1)) > committed
        assert snapshots[0] == snapshots[1]  # the first rerun has kept it
        assert written(out).count(committed[-1] + 1) == 1  # what was pending is there once
    finally:
        server.signal(signal.SIGKILL)


def written(directory: Path) -> list[int]:
    """The committed numbers, in order."""
    files = [file for file in directory.rglob("*part-*") if not file.name.startswith(".")]
    return sorted(int(line) for file in files for line in file.read_text().split())
