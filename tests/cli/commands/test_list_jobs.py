"""``millrace list``: the jobs of a checkpoint directory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from millrace.engine.control_mailbox import Mailbox, RunNote


def test_running_stopped_and_finished(place: Any, millrace: Any) -> None:
    finished, running = place.run("ab", name="one"), place.run("ab", name="two")
    note = RunNote("r", "two", running.name, "host", 7, 0)
    with Mailbox(running).open_for(note):
        lines = millrace("list").out.splitlines()
        told = {job["name"]: job for job in json.loads(millrace("list", "--json").out)}
    assert [line.split()[:4] for line in lines] == [
        ["STATE", "NAME", "ID", "CHECKPOINT"],
        ["finished", "one", finished.name, "chk-1"],
        ["running", "two", running.name, "chk-1"],
    ]
    assert (told["two"]["state"], told["two"]["pid"], told["two"]["checkpoint"]) == (
        "running",
        7,
        1,
    )
    assert (told["one"]["state"], told["one"]["pid"]) == ("finished", None)
    assert told["one"]["directory"] == str(finished)


def test_no_jobs(place: Any, millrace: Any) -> None:
    told = millrace("list")
    assert (told.code, told.out) == (0, f"no job has kept checkpoints in {place.checkpoints}\n")
    assert millrace("list", "--json").out == "[]\n"


def test_another_directory(place: Any, millrace: Any) -> None:
    place.run("ab", name="one")
    told = millrace("list", "--checkpoint-dir", place.checkpoints)
    assert " one " in told.out
    assert " one " not in millrace("list", "--checkpoint-dir", place.directory).out


def test_what_another_user_runs_is_not_called_stopped(
    place: Any, millrace: Any, monkeypatch: Any
) -> None:
    """Neither where only the mailbox is closed to us, nor where the whole directory is."""
    job_dir = place.run("ab", name="theirs")
    closed = [""]
    is_file, open_file, access = Path.is_file, os.open, os.access

    def refuse(path: Any, *_: Any, **__: Any) -> Any:
        if str(path).startswith(closed[0]):
            raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", lambda p, *a, **k: refuse(p) or open_file(p, *a, **k))
    monkeypatch.setattr(Path, "is_file", lambda p: refuse(p) or is_file(p))
    monkeypatch.setattr(
        os, "access", lambda p, m: not str(p).startswith(closed[0]) and access(p, m)
    )
    for closed[0], name in ((f"{job_dir}/control", "theirs"), (str(job_dir), job_dir.name)):
        [job] = json.loads(millrace("list", "--json").out)
        assert (job["name"], job["state"], job["pid"]) == (name, "unknown", None)
        for command in ("stop", "status"):
            told = millrace(command, job_dir.name)
            assert (told.code, "is another user's" in told.err) == (1, True)
