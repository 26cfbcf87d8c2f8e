"""``python job.py`` shows what failed in the user's function before anything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

JOB = """
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.local_executor import LocalExecutor
JobLauncher.install(JobLauncher(executor=lambda c, n, p: LocalExecutor()))

def divide(number):
    return 1 // number

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([0]).map(divide).name("Divide").print()
env.execute("job")
"""


def test_the_users_traceback_comes_first(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "operator 'Divide' failed for the record 0"
    assert "in divide" in lines[2]
    assert "ZeroDivisionError" in done.stderr
    assert 'env.execute("job")' in lines[-1]
    assert "job_manager.py" not in done.stderr


def shown(tmp_path: Path, *lines: str) -> list[str]:
    """What is shown of the error in which a program ends."""
    (tmp_path / "job.py").write_text("\n".join((JOB.partition("def divide")[0], *lines)))
    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr.splitlines()


ENV = (
    "env = StreamExecutionEnvironment.get_execution_environment()",
    "env.from_collection(range(10**6)).print()",
)


def test_a_job_that_is_cancelled_from_outside(tmp_path: Path) -> None:
    """There was a screen of our own frames."""
    first, *places, last = shown(
        tmp_path,
        *ENV,
        "client = env.build_client('job')",
        "env.launcher.listeners.append(lambda progress: client.cancel())",
        "env.build_client = lambda name: client",
        "env.execute('job')",
    )
    assert first == "Traceback (most recent call last):"
    assert "job.py" in places[0]
    assert "millrace" not in "".join(places)
    assert last == "millrace.common.errors.JobCancelledError: the job was cancelled"


def test_what_led_to_it_is_shown_as_far_as_it_is_the_users(tmp_path: Path) -> None:
    lines = (
        "from millrace.common.errors import JobExecutionError",
        "from millrace.datastream.error_display import show_user_errors_first",
        "show_user_errors_first()",
        "import json",
        "def of_mine(): raise OSError('mine')",
        "try: of_mine()",
        "except OSError as error:",
        "    try: raise JobExecutionError('inner') from error",
        "    except JobExecutionError as inner: raise JobExecutionError('outer') from inner",
    )
    text = "\n".join(shown(tmp_path, *lines))
    assert text.index("OSError: mine") < text.index("Error: inner") < text.index("Error: outer")
    sparks = (
        *lines[:3],
        "found = []",
        "def note():",
        "    try: exec(compile('raise OSError(7)', '/lib/py4j/protocol.py', 'exec'), {})",
        "    except OSError as error: found.append(error)",
        "    found[0].__traceback__ = found[0].__traceback__.tb_next",
        "note()",
        "raise JobExecutionError('outer') from found[0]",
    )
    *places, last = shown(tmp_path, *sparks)
    assert last == "millrace.common.errors.JobExecutionError: outer"
    assert not any("OSError(7)" in place or "py4j" in place for place in places)
