"""Modules beside the job file are found, here and by workers."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from millrace.cli.imports import (
    add_import_paths,
    archive_siblings,
    inherit_import_paths,
    is_local,
)


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


def test_a_job_file_alone_needs_no_archive(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("")
    assert not archive_siblings(job, tmp_path / "modules.zip")
