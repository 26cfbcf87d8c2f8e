"""A job from a packed environment: what docs/operations/deployment/packed-environments.md says."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fault_lives import environment

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operations" / "deployment" / "packed-environments.md"
CLUSTER = "spark://192.0.2.1:7077"
OWN_CLUSTER = "local-cluster[2,1,512]"
"""Executors are processes of their own, with directories of their own."""
JOB = """
import sys
from millrace.datastream import StreamExecutionEnvironment

def seen(number):
    import millrace, pyarrow
    return number % 3, sys.executable, millrace.__file__, pyarrow.__file__

env = StreamExecutionEnvironment.get_execution_environment()
keyed = env.from_collection(list(range(30))).map(seen).key_by(lambda seen: seen[0])
for result in keyed.reduce(lambda a, b: a).execute_and_collect("packed"):
    print("RESULT", *result[1:])
"""


def commands() -> list[list[str]]:
    """The page's commands, with this Python and this checkout for those of a reader."""
    page = PAGE.read_text().partition("```console\n")[2].partition("```")[0]
    own = {
        "python3.11": [f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"],
        "millrace": [sys.executable, "-m", "millrace"],
        "constraints.txt": [str(ROOT / "constraints.txt")],
        ".": [str(ROOT)],
        CLUSTER: [OWN_CLUSTER],
    }
    lines = [shlex.split(line.removeprefix("$ ")) for line in page.splitlines()]
    return [[new for word in line for new in own.get(word, [word])] for line in lines]


def with_more(command: list[str], directory: Path) -> list[str]:
    """A command of Millrace with what belongs to this machine."""
    if command[1:3] != ["-m", "millrace"]:
        return command
    more = ["--checkpoint-dir", str(directory / "checkpoints")]
    for setting in ("spark.executor.memory=512m", "spark.ui.enabled=false"):
        more += ["--conf", setting]
    return [*command[:4], *more, *command[4:]]


@pytest.mark.spark
@pytest.mark.connectors
def test_the_page_is_followed(tmp_path: Path) -> None:
    """Workers of another process have the packages of the archive, not those of this Python."""
    (tmp_path / "job.py").write_text(JOB)
    variables = environment(XDG_STATE_HOME=str(tmp_path / "state"), SPARK_LOCAL_IP="127.0.0.1")
    variables.pop("PYTHONPATH", None)
    said = ""
    for command in commands():
        if command[0] == "export":
            name, _, value = command[1].partition("=")
            variables[name] = value
            continue
        run = subprocess.run(
            with_more(command, tmp_path),
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        said = run.stdout
        assert run.returncode == 0, f"{command}: {said}{run.stderr}"
    results = [line.split()[1:] for line in said.splitlines() if line.startswith("RESULT")]
    assert len(results) == 30, said
    for python, millrace, pyarrow in results:
        assert "/env/bin/python" in python
        assert "/env/lib/" in millrace
        assert "/env/lib/" in pyarrow
        assert not python.startswith(str(tmp_path)), "that is where it was packed"
    place = results[0][0].partition("/app-")
    # Spark leaves the executors' directories where it is installed
    shutil.rmtree(place[0] + place[1] + place[2].partition("/")[0], ignore_errors=True)
