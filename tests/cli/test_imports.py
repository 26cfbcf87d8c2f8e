"""Modules beside the job file are found, here and by workers."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from millrace.cli.arguments import RunArguments, UsageError
from millrace.cli.imports import (
    add_import_paths,
    archive_siblings,
    inherit_import_paths,
    is_local,
)
from millrace.cli.run import _prepare_imports
from millrace.cli.server_run import packed_program
from millrace.common.config.configuration import Configuration


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for name in ("job.py", "helper.py", "package/__init__.py", "package/sub/deep.py"):
        path = tmp_path / "jobs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "jobs" / "data").mkdir()
    (tmp_path / "jobs" / "data" / "not_a_package.py").write_text("")
    return tmp_path / "jobs" / "job.py"


@pytest.mark.parametrize(
    ("master", "local"),
    [
        (None, True),
        ("local", True),
        ("local[4,2]", True),
        ("local-cluster[1,1,512]", False),
        ("spark://host:7077", False),
    ],
)
def test_which_masters_are_local(master: str | None, local: bool) -> None:
    assert is_local(master) is local


def test_this_process_finds_the_modules(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["rest"])
    module, archive = tmp_path / "other" / "module.py", tmp_path / "lib.zip"
    entries = add_import_paths(job, [module, archive])
    assert entries == [str(job.parent), str(module.parent), str(archive)]
    assert sys.path == [*entries, "rest"]


def test_children_look_there_before_their_own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "before")
    inherit_import_paths(["a", "b"])
    assert os.environ["PYTHONPATH"].split(os.pathsep) == ["a", "b", "before"]


def test_modules_and_packages_are_archived_but_not_the_job(job: Path, tmp_path: Path) -> None:
    archive = tmp_path / "modules.zip"
    assert archive_siblings(job, archive)
    with zipfile.ZipFile(archive) as content:
        assert sorted(content.namelist()) == [
            "helper.py",
            "package/__init__.py",
            "package/sub/deep.py",
        ]


@pytest.mark.parametrize("functions", [None, "functions.py"])
def test_a_cluster_gets_the_modules_beside_the_job_or_its_functions(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, functions: str | None
) -> None:
    """The job file of a ``module.yaml`` is none of the user's."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    own = None if functions is None else job.with_name(functions)
    program = job if own is None else tmp_path / "module_program.py"
    settings = Configuration({"spark.master": "spark://host:7077"})
    py_files = () if own is None else (own,)
    arguments = RunArguments(program, settings=settings, py_files=py_files, functions=own)
    shipped = _prepare_imports(arguments, tmp_path).get_string("spark.submit.pyFiles")
    *files, modules = shipped.split(",")
    assert files == [str(path) for path in py_files]
    with zipfile.ZipFile(modules) as content:
        assert {"helper.py", "package/sub/deep.py"} <= set(content.namelist())


def test_a_server_gets_the_modules_beside_the_functions_of_a_module(
    job: Path, tmp_path: Path
) -> None:
    """Those beside the module are imported nowhere."""
    module = tmp_path / "module" / "shop.yaml"
    module.parent.mkdir()
    for name in ("shop.yaml", "helper.py", "other.py"):
        (module.parent / name).write_text(name)
    packed = packed_program(module, (), tmp_path, job)
    with zipfile.ZipFile(packed) as content:
        assert sorted(content.namelist()) == [
            *("helper.py", "job.py", "package/__init__.py", "package/sub/deep.py", "shop.yaml")
        ]
        assert content.read("helper.py") == b""


@pytest.mark.parametrize("name", ["job.py", "helper.py", "twice.py"])
def test_two_modules_of_one_name_are_refused(
    job: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server would replace one by the other, and here one would hide the other."""
    module, extra = tmp_path / "module" / "shop.yaml", tmp_path / "extra"
    for directory in (module.parent, extra, extra / "twice"):
        directory.mkdir()
    module.write_text("")
    twice = extra / "twice" / "twice.py"
    for path in (extra / name, twice):
        path.write_text("OTHER = 1")
    with pytest.raises(UsageError, match=rf"extra/{name} has the name of .*{name}.*: rename one"):
        packed_program(module, (twice, twice, extra / name), tmp_path, job)
    monkeypatch.setattr(sys, "path", [*sys.path])
    arguments = RunArguments(tmp_path / "program.py", py_files=(job, extra / name), functions=job)
    if name != "twice.py":
        with pytest.raises(UsageError, match=rf"extra/{name} has the name of "):
            _prepare_imports(arguments, tmp_path)


def test_a_job_file_alone_needs_no_archive(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("")
    assert not archive_siblings(job, tmp_path / "modules.zip")
