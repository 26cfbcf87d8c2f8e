"""What a run leaves on the disk is its user's alone, whatever umask and parents say."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SOURCES = Path(__file__).parents[2] / "src"
PATIENCE = 180
NOBODY = 65534

JOB = """
from millrace.connectors import FileSink
from millrace.common.serialization import SimpleStringEncoder
from millrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
words = env.from_collection(["a", "b", "a"]).key_by(lambda word: word).reduce(lambda a, b: a + b)
words.print()
words.sink_to(FileSink.for_row_format("out", SimpleStringEncoder()).build())
env.execute("private")
"""


@pytest.fixture(scope="module")
def ran() -> Iterator[Path]:
    """The directory of a run under umask 022, whose parents were there before, open to all."""
    top = Path(tempfile.mkdtemp())
    yield _run_in(top)
    shutil.rmtree(top)


def _run_in(tmp_path: Path) -> Path:
    (tmp_path / "state/millrace/checkpoints").mkdir(parents=True)
    (tmp_path / "state/millrace/logs").mkdir()
    for directory in (tmp_path, *tmp_path.rglob("*")):
        directory.chmod(0o755)
    (tmp_path / "job.py").write_text(JOB)
    done = subprocess.run(
        [sys.executable, "-m", "millrace.cli.main", "run", "job.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "HOME": str(tmp_path / "home"),
            "TMPDIR": str(tmp_path),
        },
        umask=0o022,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.turns(7)
def test_checkpoints_and_logs_are_private_but_output_is_not(ran: Path) -> None:
    [job] = (ran / "state/millrace/checkpoints").iterdir()
    logs = list((ran / "state/millrace/logs").iterdir())
    kept = [job, *job.rglob("*"), *logs]
    assert {path.name for path in kept} >= {"_metadata", "lease.json", "shared", "control"}
    assert logs
    for path in kept:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    parts = [path for path in (ran / "out").rglob("*") if path.is_file()]
    assert parts
    assert {mode(path) for path in parts} == {0o644}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_nobody_else_can_read_them(ran: Path) -> None:
    tops = list((ran / "state/millrace/checkpoints").iterdir())
    tops += (ran / "state/millrace/logs").iterdir()
    found = subprocess.run(
        ["find", *map(str, [*tops, ran / "job.py"]), "-readable"],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.split() == [str(ran / "job.py")]
