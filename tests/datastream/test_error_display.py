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
