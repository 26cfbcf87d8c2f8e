"""What ``millrace run`` adds to the running of a job."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.cli.arguments import RunArguments
from millrace.cli.interrupts import Interrupts
from millrace.cli.launcher import CommandLineLauncher
from millrace.cli.terminal import Terminal
from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.program_file import default_job_name, program_file
from millrace.testing.local_executor import LocalExecutor


@pytest.fixture(autouse=True)
def _default_launcher() -> Iterator[None]:
    yield
    JobLauncher.install(None)


def launch(tmp_path: Path | str, resume: bool = False, **settings: object) -> io.StringIO:
    """Install a launcher as a new run of the command would; returns what it says."""
    said = io.StringIO()
    terminal = Terminal(said)
    launcher = CommandLineLauncher(
        settings=Configuration(settings),
        defaults=Configuration({"execution.checkpointing.dir": str(tmp_path)}),
        own_dir=str(tmp_path),
        resume=resume,
        executor=lambda configuration, name, parallelism: LocalExecutor(2),
        terminal=terminal,
        interrupts=Interrupts(terminal),
        arguments=RunArguments(Path("job.py"), resume=resume, argv=("run", "job.py")),
    )
    JobLauncher.install(launcher)
    return said


def run_job(name: str | None = "numbers") -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).print()
    env.execute(name)
    return env


def test_it_says_where_the_checkpoints_are(tmp_path: Path) -> None:
    said = launch(tmp_path)
    run_job()
    [line] = said.getvalue().splitlines()
    assert line.startswith(f"millrace: job 'numbers' keeps its checkpoints in {tmp_path}/numbers-")


def test_a_fresh_start_beside_a_checkpoint_says_how_to_resume(tmp_path: Path) -> None:
    launch(tmp_path)
    run_job()
    said = launch(tmp_path)
    run_job()
    assert said.getvalue().splitlines()[1] == (
        "millrace: the job starts afresh, although there is checkpoint 1; to continue from it: "
        "millrace run --resume job.py"
    )


def test_a_uri_is_looked_into_as_well(tmp_path: Path) -> None:
    launch(tmp_path.as_uri())
    run_job()
    said = launch(tmp_path.as_uri(), resume=True)
    run_job()
    assert f"keeps its checkpoints in {tmp_path}/numbers-" in said.getvalue()
    assert "resuming from checkpoint 1" in said.getvalue()


def test_resuming_goes_on_or_says_that_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = launch(tmp_path, resume=True)
    run_job()
    assert "no checkpoint to resume from: the job starts afresh" in said.getvalue()
    assert capsys.readouterr().out == "1\n2\n"
    said = launch(tmp_path, resume=True)
    run_job()
    assert "resuming from checkpoint 1" in said.getvalue()
    assert capsys.readouterr().out == ""


def test_jobs_of_one_name_have_directories_of_their_own(tmp_path: Path) -> None:
    said = launch(tmp_path)
    run_job(None)
    run_job(None)
    lines = said.getvalue().splitlines()
    assert f"job '{default_job_name(program_file())} (2)'" in lines[1]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_program_names_another_directory(tmp_path: Path) -> None:
    said = launch(tmp_path / "default")
    own = Configuration({"execution.checkpointing.dir": str(tmp_path / "own")})
    env = StreamExecutionEnvironment.get_execution_environment(own)
    env.from_collection([1]).print()
    env.execute("numbers")
    assert f"checkpoints in {tmp_path}/own/numbers-" in said.getvalue()


def test_the_command_line_goes_over_the_program(tmp_path: Path) -> None:
    launch(tmp_path, **{"parallelism.default": 3})
    own = Configuration({"parallelism.default": 2})
    assert StreamExecutionEnvironment.get_execution_environment(own).get_parallelism() == 3


def test_a_name_on_the_command_line_goes_over_the_program(tmp_path: Path) -> None:
    said = launch(tmp_path, **{"pipeline.name": "mine"})
    run_job("numbers")
    run_job("numbers")
    names = [line for line in said.getvalue().splitlines() if "keeps its checkpoints" in line]
    assert ["'mine'" in names[0], "'mine (2)'" in names[1]] == [True, True]


def test_it_says_what_a_job_starts_from(tmp_path: Path) -> None:
    launch(tmp_path)
    run_job()
    [job_dir] = tmp_path.iterdir()
    start = str(job_dir / "chk-1")
    said = launch(
        tmp_path,
        **{
            "execution.state-recovery.path": start,
            "pipeline.name": "fork",
            "execution.state-recovery.allow-pickle": "true",
        },
    )
    run_job()
    assert f"millrace: starting from {start}\n" in said.getvalue()


def test_a_run_on_what_is_available_now_goes_on_by_itself(tmp_path: Path) -> None:
    settings = {"millrace.available-now": "true"}
    said = launch(tmp_path, **settings)
    run_job()
    assert "there is no checkpoint to resume from: the job starts afresh" in said.getvalue()
    said = launch(tmp_path, **settings)
    run_job()
    assert "resuming from checkpoint" in said.getvalue()
