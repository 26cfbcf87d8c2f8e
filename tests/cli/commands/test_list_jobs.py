"""``millrace list``: the jobs of a checkpoint directory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobCancelledError, UserFunctionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.control_client import await_end
from millrace.engine.control_mailbox import Mailbox, RunNote
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.job_record import RecordedRun
from millrace.testing import CollectingSink, run_local


def test_running_stopped_and_finished(place: Any, millrace: Any) -> None:
    finished, running = place.run("ab", name="one"), place.run("ab", name="two")
    note = RunNote("r", "two", running.name, "host", 7, 0)
    with Mailbox(running).open_for(note):
        lines = millrace("list").out.splitlines()
        told = {job["name"]: job for job in json.loads(millrace("list", "--json").out)}
    assert [line.split()[:5] for line in lines] == [
        ["STATE", "NAME", "ID", "EXECUTOR", "CHECKPOINT"],
        ["finished", "one", finished.name, "epochs", "chk-1"],
        ["running", "two", running.name, "epochs", "chk-1"],
    ]
    assert told["one"]["executor"] == "epochs"
    assert (told["two"]["state"], told["two"]["pid"], told["two"]["checkpoint"]) == (
        "running",
        7,
        1,
    )
    assert (told["one"]["state"], told["one"]["pid"]) == ("finished", None)
    assert told["one"]["directory"] == str(finished)


def run(place: Any, name: str, act: Any = lambda client: None, fail: bool = False) -> None:
    """Run a job; after its second epoch, ``act`` is done with its client."""
    with run_local(epoch_records=2, checkpoint_dir=str(place.checkpoints)) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0)
        numbers = env.from_collection(range(20))
        (numbers.map(lambda n: 1 // (n - 15)).name("divide") if fail else numbers).sink_to(
            CollectingSink()
        )
        client: EmbeddedJobClient = env.build_client(name)
        cluster.listeners.append(lambda p: act(client) if p.epochs == 2 else None)
        client.run()
        client.result()


def test_how_each_job_ended(place: Any, millrace: Any) -> None:
    """They were all "stopped"."""
    with pytest.raises(UserFunctionError):
        run(place, "failing", fail=True)
    with pytest.raises(JobCancelledError):
        run(place, "cancelled", lambda client: client.cancel())
    with pytest.raises(JobCancelledError):
        run(place, "suspended", lambda client: client.stop())
    savepoints = str(place.savepoints)
    run(place, "stopped", lambda client: client.stop_with_savepoint(False, savepoints))
    run(place, "finished")
    run(place, "killed")
    for directory in place.checkpoints.iterdir():
        assert await_end(directory, 30)
    [killed] = place.checkpoints.glob("killed-*")
    RecordedRun("killed", killed.name, "run-2", "job.py").started(str(killed))
    jobs = {job["name"]: job for job in json.loads(millrace("list", "--json").out)}
    assert {name: job["state"] for name, job in jobs.items()} == {
        "failing": "failed", "cancelled": "cancelled", "suspended": "stopped",
        "stopped": "stopped", "finished": "finished", "killed": "killed",
    }  # fmt: skip
    assert "ZeroDivisionError" in jobs["failing"]["error"]
    assert [job["error"] for name, job in jobs.items() if name != "failing"] == [None] * 5
    assert "ZeroDivisionError: integer division" in millrace("list").out
    for command in ("stop", "savepoint", "cancel"):
        refused = millrace(command, "failing")
        assert refused.code == 1
        expected = "job 'failing' is not running: it failed in operator 'divide': ZeroDivisionError"
        assert expected in refused.err
    told = millrace("status", "failing")
    assert told.code == 0
    assert told.out.startswith("failing is not running: failed at ")
    assert "it failed in operator 'divide':\n" in told.out
    assert "ZeroDivisionError" in told.out
    fields = json.loads(millrace("status", "failing", "--json").out)
    assert (fields["status"], fields["state"], fields["operator"]) == ("FAILED", "failed", "divide")
    assert millrace("status", "killed").out.startswith("killed is not running: killed; its newest")


def test_a_job_that_never_made_a_checkpoint_keeps_its_name(place: Any, millrace: Any) -> None:
    with run_local(checkpoint_dir=str(place.checkpoints)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([0]).map(lambda n: 1 // n).sink_to(CollectingSink())
        with pytest.raises(UserFunctionError):
            env.execute("My Job")
    assert await_end(next(place.checkpoints.iterdir()), 30)
    [job] = json.loads(millrace("list", "--json").out)
    assert (job["name"], job["state"], job["checkpoint"]) == ("My Job", "failed", None)


def test_no_jobs(place: Any, millrace: Any) -> None:
    told = millrace("list")
    assert (told.code, told.out) == (0, f"no job has checkpoints in {place.checkpoints}\n")
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
            assert (told.code, "belongs to another user" in told.err) == (1, True)
