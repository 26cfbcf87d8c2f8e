"""What can be said to ``millrace run``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millrace.cli import parser
from millrace.cli.arguments import RunArguments, UsageError, run_arguments
from millrace.common.config import options


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "job.py"
    path.write_text("pass")
    return str(path)


def parse(*argv: str) -> RunArguments:
    arguments = ["run", *argv]
    return run_arguments(parser.parse(arguments), arguments)


def test_what_is_not_said_is_left_to_the_program(job: str) -> None:
    arguments = parse(job)
    assert arguments.settings.to_dict() == {}
    assert not arguments.resume
    assert arguments.master is None


def test_options_become_settings(job: str) -> None:
    arguments = parse(
        "--master", "local[3]", "--parallelism", "2", "--checkpoint-dir", "c",
        "--checkpoint-interval", "10 s", "--conf", "spark.ui.port=0", job,
    )  # fmt: skip
    assert arguments.master == "local[3]"
    assert arguments.settings.to_dict() == {
        "spark.ui.port": "0",
        "spark.master": "local[3]",
        "parallelism.default": "2",
        "execution.checkpointing.dir": "c",
        "execution.checkpointing.interval": "10 s",
    }


def test_what_follows_the_job_file_is_for_the_job(job: str) -> None:
    arguments = parse(job, "--resume", "a")
    assert arguments.job_arguments == ("--resume", "a")
    assert not arguments.resume


def test_the_command_that_resumes_keeps_everything_else(job: str) -> None:
    assert parse("--parallelism", "2", job, "x y").resume_command() == (
        f"millrace run --resume --parallelism 2 {job} 'x y'"
    )
    assert parse("--resume", job).resume_command() == f"millrace run --resume {job}"


def test_the_command_that_resumes_hides_secrets(job: str) -> None:
    words = ("--remote", "sc://h/;token=dapi", "--conf", "spark.my.secret=dapi", "--name=n", job)
    shown = parse(*words, "db=postgresql://ada:dapi@h/db").resume_command()
    assert "dapi" not in shown
    assert "'sc://h/;******' --conf 'spark.my.secret=******' --name=n" in shown


def test_a_missing_job_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no job file"):
        parse(str(tmp_path / "none.py"))
    with pytest.raises(UsageError, match="is a directory; name the job file in it"):
        parse(str(tmp_path))


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("parallelism.defualt=2", "did you mean 'parallelism.default'"),
        ("no.such.key=1", "unknown configuration key 'no.such.key'"),
        ("parallelism.default=many", "parallelism.default must be"),
    ],
)
def test_unknown_and_wrong_settings_are_refused(job: str, setting: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        parse("--conf", setting, job)


@pytest.mark.parametrize(
    "options", [["--parallelism", "0"], ["--parallelism", "two"], ["--checkpoint-interval", "soon"]]
)
def test_wrong_values_are_refused(job: str, options: list[str]) -> None:
    with pytest.raises(UsageError, match="must be"):
        parse(*options, job)


def test_a_setting_needs_key_and_value(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse("--conf", "parallelism.default", job)
    assert end.value.code == 2
    assert "not of the form key=value" in capsys.readouterr().err


def test_py_files_must_be_there_and_importable(job: str, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("")
    with pytest.raises(UsageError, match="does not exist"):
        parse("--py-files", str(tmp_path / "none.zip"), job)
    with pytest.raises(UsageError, match=r"takes \.py, \.zip, \.egg and \.whl"):
        parse("--py-files", str(text), job)
    assert parse("--py-files", f"{job},{job}", job).py_files == (Path(job), Path(job))


def test_what_to_start_from(job: str, tmp_path: Path) -> None:
    """It is looked for before Spark is started, and its path holds wherever the job runs."""
    savepoint = tmp_path / "savepoint"
    savepoint.mkdir()
    (savepoint / "_metadata").write_bytes(b"")
    arguments = parse("-s", str(savepoint), "-n", "--claim-mode", "CLAIM", "--name", "b", job)
    assert arguments.settings.to_dict() == {
        "execution.state-recovery.path": str(savepoint),
        "execution.state-recovery.ignore-unclaimed-state": "true",
        "execution.state-recovery.claim-mode": "CLAIM",
        "pipeline.name": "b",
    }
    with pytest.raises(UsageError, match="there is no complete savepoint or checkpoint at"):
        parse("-s", str(tmp_path / "none"), job)


def test_what_is_available_now_goes_on_from_the_newest_checkpoint(job: str) -> None:
    arguments = parse("--available-now", job)
    assert arguments.resume
    assert arguments.settings.get(options.AVAILABLE_NOW) is True
    assert arguments.resume_command() == f"millrace run --available-now {job}"


def test_settings_of_the_environment_give_way_to_the_command_line(
    job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = '{"metrics.reporter.dog.apikey": "geheim", "parallelism.default": "2"}'
    monkeypatch.setenv("MILLRACE_SETTINGS", said)
    arguments = parse("--conf", "parallelism.default=3", job)
    assert arguments.settings.to_dict() == {
        "metrics.reporter.dog.apikey": "geheim",
        "parallelism.default": "3",
    }
    assert "MILLRACE_SETTINGS" not in os.environ, "its processes need not know"


@pytest.mark.parametrize("said", ["{", "[]", '{"parallelism.default": 2}'])
def test_settings_of_the_environment_are_a_json_object(
    job: str, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("MILLRACE_SETTINGS", said)
    with pytest.raises(UsageError, match="MILLRACE_SETTINGS must be a JSON object of texts"):
        parse(job)


def test_unknown_settings_of_the_environment_are_refused(
    job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_SETTINGS", '{"parallelism.defualt": "2"}')
    with pytest.raises(UsageError, match="did you mean 'parallelism.default'"):
        parse(job)


@pytest.mark.parametrize(
    ("line", "options", "place"),
    [
        ("spark.remote: sc://host:15002", ("--master", "local[2]"), ("local[2]", None)),
        ("spark.master: spark://node:7077", ("--remote", "sc://host"), (None, "sc://host:15002")),
        ("spark.remote: sc://host:15002", (), (None, "sc://host:15002")),
    ],
)
def test_the_command_line_says_where_a_job_runs(
    job: str, tmp_path: Path, line: str, options: tuple[str, ...], place: tuple[str | None, ...]
) -> None:
    (tmp_path / "c.yaml").write_text(line)
    arguments = parse("--config", str(tmp_path / "c.yaml"), *options, job)
    remote = arguments.remote
    assert (arguments.master, None if remote is None else str(remote)) == place


def test_a_file_names_one_place(job: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("spark: {master: 'local[2]', remote: 'sc://host'}")
    with pytest.raises(UsageError, match=r"has spark.master and spark.remote; keep one"):
        parse("--config", str(tmp_path / "c.yaml"), job)
