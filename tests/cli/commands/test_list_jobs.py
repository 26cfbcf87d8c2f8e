"""``millrace list``: the jobs of a checkpoint directory."""

from __future__ import annotations

import json
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
