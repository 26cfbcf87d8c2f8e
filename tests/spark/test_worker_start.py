"""Workers that cannot begin, and modules that workers do not have, with real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.spark.worker_start import start_failure

SOURCES = Path(__file__).parents[2] / "src"
UNREAD = """Job aborted: org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] Traceback:
  File "/lib/pyspark.zip/pyspark/worker.py", line 4197, in invoke_udf
    func, profiler, deserializer, serializer = read_command(pickleSer, init_info.udf_info)
  File "/lib/pyspark.zip/pyspark/worker_util.py", line 75, in read_command
    command = serializer.loads(file)
              ^^^^^^^^^^^^^^^^^^^^^^
  File "/lib/pyspark.zip/pyspark/serializers.py", line 483, in loads
    return cloudpickle.loads(obj, encoding=encoding)
ModuleNotFoundError: No module named 'millrace'
 SQLSTATE: 38000
"""
SESSION = """
from pyspark.sql import SparkSession
SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection(range(5)).map(lambda n: n + 1).print()
env.execute("job")
"""
MISSING = """
import sys
sys.path.insert(0, "lib")
import shop
import wsgiref
import wsgiref.util
from millrace.common.errors import UserFunctionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.failure_hints import failure_hint

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([5]).map(shop.price).name("Prices").print()
try:
    env.execute("prices")
except UserFunctionError as error:
    print(failure_hint(error.user_traceback))
guess = lambda text: (lambda inner: wsgiref.util.guess_scheme({"HTTPS": inner}))(text)
env.from_collection(["on"]).map(guess).name("Pages").print()
env.execute("pages")
"""


def test_why_workers_cannot_begin() -> None:
    reason = start_failure(UNREAD)
    assert reason is not None
    assert "(ModuleNotFoundError: No module named 'millrace'): set the environment" in reason


@pytest.mark.parametrize(
    "message", ["", "Python worker exited unexpectedly", UNREAD.replace("read_command", "process")]
)
def test_what_is_about_something_else(message: str) -> None:
    assert start_failure(message) is None


def run(directory: Path, program: str, **environment: str) -> tuple[int, str, str]:
    (directory / "job.py").write_text(program)
    inherited = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=directory,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """An interpreter without packages of ours: `python3` of a directory."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    (directory / "python3").chmod(0o755)
    return directory


@pytest.mark.turns(7)
@pytest.mark.spark
def test_a_session_of_the_users_gets_the_programs_interpreter(
    tmp_path: Path, other_python: Path
) -> None:
    """PySpark took the first python3 on the path."""
    path = f"{other_python}{os.pathsep}{os.environ['PATH']}"
    code, out, err = run(tmp_path, SESSION, PATH=path, PYTHONPATH=str(SOURCES))
    assert code == 0, err
    assert sorted(line.split()[-1] for line in out.splitlines()) == list("12345")


@pytest.mark.turns(7)
@pytest.mark.spark
def test_a_wrong_interpreter_is_one_error(tmp_path: Path, other_python: Path) -> None:
    """It was tried six times."""
    wrong = {"PYSPARK_PYTHON": str(other_python / "python3"), "PYTHONPATH": ""}
    program = f"import sys; sys.path.insert(0, {str(SOURCES)!r})" + SESSION
    code, _, err = run(tmp_path, program, **wrong)
    assert code == 1
    assert err.count("cannot run Millrace (ModuleNotFoundError: No module named") == 1
    assert "runs again" not in err
    assert "PYSPARK_PYTHON" in err.splitlines()[-1]


@pytest.mark.turns(7)
@pytest.mark.spark
def test_what_workers_do_not_have(tmp_path: Path) -> None:
    """A module of the user's, and a submodule that a function does not take along."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shop.py").write_text("def price(n): return n\n")
    code, out, err = run(tmp_path, MISSING, PYTHONPATH=str(SOURCES))
    assert code == 1
    assert "the workers do not have the module 'shop': ship your own with --py-files" in out
    assert err.count("the function uses the module 'wsgiref.util', which is not imported on") == 1
    assert "runs again" not in err
