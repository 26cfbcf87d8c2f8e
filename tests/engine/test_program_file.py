"""Jobs without a name: each program has its own."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from millrace.common.errors import CheckpointError
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.program_file import default_job_name, program_file
from millrace.testing import run_local


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> object:
    """Makes this process that of another program."""

    def become(**names: str) -> None:
        main = ModuleType("__main__")
        vars(main).update(names)
        monkeypatch.setitem(sys.modules, "__main__", main)

    return become


def test_the_name_follows_from_the_place(become, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    become(__file__=str(tmp_path / "a" / "job.py"))
    assert default_job_name(program_file()) == "job (~/a)"
    become(__file__="/srv/b/job.py")
    assert default_job_name(program_file()) == "job (/srv/b)"
    monkeypatch.chdir(tmp_path)
    become(__file__="job.py")
    assert program_file() == str(tmp_path / "job.py")


def test_notebooks_and_sessions(become, monkeypatch, tmp_path: Path) -> None:
    become(__vsc_ipynb_file__="/srv/n/look.ipynb")
    assert default_job_name(program_file({})) == "look (/srv/n)"
    become()
    assert program_file({"JPY_SESSION_NAME": "/srv/n/see.ipynb"}) == "/srv/n/see.ipynb"
    monkeypatch.chdir(tmp_path)
    assert program_file({}) is None
    assert default_job_name(None) == f"interactive session ({tmp_path})"


def run(directory: Path, name: str | None, resume: bool = False, uid: str | None = None) -> str:
    """Run a job of some shape; returns its name."""
    with run_local(checkpoint_dir=directory, resume=resume) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        summed = env.from_collection([1, 2]).key_by(lambda n: 0).sum()
        if uid is not None:
            summed.uid(uid)
        summed.print()
        env.execute(name)
    return cluster.progress[-1].job_name if cluster.progress else ""


def test_two_unnamed_programs_share_nothing(become, tmp_path: Path) -> None:
    """They had one directory, and one resumed from the other's checkpoints."""
    become(__file__="/srv/a/job.py")
    run(tmp_path, None)
    become(__file__="/srv/b/job.py")
    assert run(tmp_path, None, resume=True) == "job (/srv/b)"
    assert len(list(tmp_path.iterdir())) == 2


def test_another_program_of_the_same_name_does_not_resume(become, tmp_path: Path) -> None:
    become(__file__="/srv/a/clicks.py")
    run(tmp_path, "count")
    become(__file__="/srv/a/orders.py")
    with pytest.raises(CheckpointError) as refused:
        run(tmp_path, "count", resume=True)
    for word in ("/srv/a/clicks.py", "/srv/a/orders.py", "chk-1", "--name"):
        assert word in str(refused.value)


@pytest.mark.parametrize("file", ["/srv/a/clicks.py", "/srv/v2/clicks.py"])
def test_a_program_that_has_moved_resumes(become, tmp_path: Path, file: str) -> None:
    become(__file__="/srv/a/clicks.py")
    run(tmp_path, "count")
    become(__file__=file)
    run(tmp_path, "count", resume=True)  # nothing is left to do


def test_a_uid_says_that_it_is_the_same(become, tmp_path: Path) -> None:
    become(__file__="/srv/a/clicks.py")
    run(tmp_path, "count", uid="clicks-per-user")
    become(__file__="/srv/a/clicks_v2.py")
    run(tmp_path, "count", resume=True, uid="clicks-per-user")
