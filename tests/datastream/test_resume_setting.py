"""`millrace.resume`: `millrace run --resume` as a setting of the program."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobCancelledError, UserFunctionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.testing import CollectingSink, run_local


def printed(
    directory: Path, capsys: pytest.CaptureFixture[str], cancel: bool = False, **settings: str
) -> list[int]:
    """Run a job with a checkpoint after each epoch; with ``cancel``, cancel it after the third."""
    configuration = Configuration({key.replace("_", "."): text for key, text in settings.items()})
    with run_local(epoch_records=2, checkpoint_dir=directory) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1).enable_checkpointing(0)
        env.from_collection(range(20)).print()
        client = env.build_client("job")
        cluster.listeners.append(lambda p: client.cancel() if cancel and p.epochs == 3 else None)
        client.run()
        if cancel:
            with pytest.raises(JobCancelledError):
                client.result()
        else:
            client.result()
    return [int(line) for line in capsys.readouterr().out.split()]


def test_goes_on_only_if_it_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = printed(tmp_path, capsys, cancel=True)
    assert first == list(range(6))
    assert printed(tmp_path, capsys, cancel=True) == first
    assert printed(tmp_path, capsys, millrace_resume="true") == list(range(6, 20))


def test_starts_afresh_without_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(tmp_path, capsys, millrace_resume="true") == list(range(20))


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    caplog.clear()
    return found


def test_a_fresh_start_beside_a_checkpoint_is_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    run = partial(printed, tmp_path, capsys, cancel=True)
    run()
    assert warnings_of(caplog) == []
    run()
    [job_dir] = tmp_path.iterdir()
    assert warnings_of(caplog) == [
        "the job starts afresh, although there is checkpoint 3; to continue from it: set "
        f"millrace.resume to true (job 'job' in {job_dir})"
    ]
    run(millrace_resume="true")
    assert warnings_of(caplog) == []
    start = {"execution.state-recovery.path": str(max(job_dir.glob("chk-*")))}
    run(**start, **{"execution.state-recovery.allow-pickle": "true"})
    assert warnings_of(caplog) == []


def fail_at_nine(number: int) -> int:
    if number == 9:
        raise ValueError("nine")
    return number


def run_in_foreground(env: StreamExecutionEnvironment) -> None:
    env.execute("job")


def run_in_background(env: StreamExecutionEnvironment) -> None:
    env.execute_async("job").get_job_execution_result().result()


RUNS = [run_in_foreground, run_in_background]


@pytest.mark.parametrize("run_job", RUNS)
@pytest.mark.parametrize("keeps", [True, False])
def test_a_job_that_ends_early_says_how_to_continue(
    keeps: bool,
    run_job: Callable[[StreamExecutionEnvironment], None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Unless it has kept no checkpoint."""
    with run_local(epoch_records=2, checkpoint_dir=tmp_path if keeps else None):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1).enable_checkpointing(0)
        env.from_collection(range(20)).map(fail_at_nine).sink_to(CollectingSink())
        with pytest.raises(UserFunctionError, match="nine"):
            run_job(env)
    told = [text for text in warnings_of(caplog) if "to continue" in text]
    sentence = "to continue from checkpoint 4: set millrace.resume to true (job 'job' in "
    assert told == ([f"{sentence}{next(tmp_path.iterdir())})"] if keeps else [])


@pytest.mark.parametrize("run_job", RUNS)
def test_a_resumed_job_that_fails_before_its_first_checkpoint_says_how_to_continue(
    run_job: Callable[[StreamExecutionEnvironment], None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for resumes in False, True:
        caplog.clear()
        with run_local(epoch_records=2, checkpoint_dir=tmp_path):
            env = StreamExecutionEnvironment.get_execution_environment(
                Configuration({"millrace.resume": str(resumes).lower()})
            )
            env.set_parallelism(1).enable_checkpointing(0)
            env.from_collection(range(20)).map(fail_at_nine).sink_to(CollectingSink())
            with pytest.raises(UserFunctionError, match="nine"):
                run_job(env)
        [told] = [text for text in warnings_of(caplog) if "to continue from" in text]
        assert told.startswith("to continue from checkpoint 4: ")


def test_a_failed_advice_does_not_replace_the_jobs_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(launcher: JobLauncher, client: EmbeddedJobClient) -> None:
        raise LookupError("no advice")

    monkeypatch.setattr(JobLauncher, "announce_end", fail)
    for run_job in RUNS:
        with run_local(epoch_records=2):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.from_collection(range(20)).map(fail_at_nine).sink_to(CollectingSink())
            with pytest.raises(UserFunctionError, match="nine"):
                run_job(env)


def test_a_query_is_meant_to_start_afresh(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with run_local(checkpoint_dir=tmp_path):
            env = StreamExecutionEnvironment.get_execution_environment()
            assert list(env.from_collection([1]).execute_and_collect("query")) == [1]
    assert list(tmp_path.glob("query-*/chk-*"))
    assert warnings_of(caplog) == []


INTERRUPTED_WAIT = """
import os, signal, sys
from threading import Event
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import CollectingSink, run_local


def press_at_nine(number):
    if number == 9:
        os.kill(os.getpid(), signal.SIGINT)
        Event().wait()
    return number


with run_local(epoch_records=2, checkpoint_dir=sys.argv[1]):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1).enable_checkpointing(0)
    env.from_collection(range(20)).map(press_at_nine).sink_to(CollectingSink())
    env.execute_async("job").get_job_execution_result().result()
"""


def test_a_program_that_ends_before_its_job_says_how_to_continue(tmp_path: Path) -> None:
    """Ctrl-C in any wait for a job in the background."""
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED_WAIT)
    command = ["env", "--default-signal=INT", sys.executable, program, tmp_path / "checkpoints"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert re.search(
        r"KeyboardInterrupt\n.*to continue from checkpoint \d+: set millrace.resume to true "
        r"\(job 'job' in ",
        ended.stderr,
    ), ended.stderr


def test_a_program_that_outlives_its_job_has_nothing_to_say(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED_WAIT.replace("number == 9", "number == 99"))
    subprocess.run([sys.executable, program, tmp_path / "checkpoints"], timeout=60, check=True)
    assert "to continue" not in capfd.readouterr().err
