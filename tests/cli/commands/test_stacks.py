"""A job that hangs in a user function can be looked into, on Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

SOURCES = Path(__file__).parents[3] / "src"
PATIENCE = 180
JOB = """
import time
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)

def look_up(number):
    if number == 7:
        time.sleep(300)
    return number

numbers = env.from_collection(range(10)).key_by(lambda n: n % 2)
numbers.map(look_up).name("Enrich").print()
env.execute("stuck")
"""


HOLDS_THE_LOCK = """
import ctypes

def hold():
    # a library whose calls keep the lock of the interpreter
    ctypes.PyDLL(None).sleep(300)
"""


class Shell:
    """Starts jobs in processes of their own; the other commands run in that of the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "job.py").write_text(textwrap.dedent(JOB))
        self.environment = {
            **os.environ, "PYTHONPATH": str(SOURCES), "XDG_STATE_HOME": str(directory),
        }  # fmt: skip

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "millrace", *words],
            cwd=self.directory, env=self.environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def stuck(shell: Shell) -> Iterator[Any]:
    process = shell.start("run", "--progress", "job.py")
    yield process
    process.kill()
    process.communicate()


def until_it_says(millrace: Any, word: str, *command: str) -> str:
    deadline, told = time.monotonic() + PATIENCE, None
    while told is None or word not in told.out:
        assert time.monotonic() < deadline, told
        time.sleep(0.2)
        told = millrace(*command)
    return str(told.out)


@pytest.mark.turns(7)
def test_where_a_job_hangs(stuck: subprocess.Popen[str], place: Any, millrace: Any) -> None:
    status = until_it_says(millrace, "in 'Enrich'", "status", "stuck")
    assert "epoch 0 running for" in status
    assert "(subtask " in status
    assert "2 of 3 subtasks done" in status
    told = millrace("stacks", "stuck")
    assert told.code == 0
    assert "in look_up\n" in told.out
    assert "the driver:" in told.out
    told = millrace("savepoint", "stuck", "--timeout", "3")
    assert told.code == 1
    assert "millrace: the job waits for epoch 0 running for" in told.err
    assert "in 'Enrich'" in told.err.splitlines()[-1]
    assert millrace("cancel", "stuck").code == 0
    _, err = stuck.communicate(timeout=PATIENCE)
    assert "millrace: epoch 0 running for" in err


@pytest.mark.turns(7)
def test_an_epoch_that_takes_too_long_fails_the_job(shell: Shell) -> None:
    """Here by a call that keeps the interpreter's lock: no other thread of the worker runs."""
    (shell.directory / "holding.py").write_text(HOLDS_THE_LOCK)
    job = JOB.replace("time.sleep(300)", "holding.hold()")
    (shell.directory / "job.py").write_text(job.replace("import time", "import holding"))
    code, _, err = shell.run("run", "--conf", "millrace.epoch.timeout=15s", "job.py")
    assert code == 1
    assert "in 'Enrich -> Print' (subtask" in err
    assert "in look_up" in err
    assert "in hold\n" in err
    assert not list(shell.directory.glob("millrace/**/running"))
