"""A job file runs as ``python job.py`` would run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from millrace.cli.run import run_job_file


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def test_it_is_the_main_module_with_its_arguments(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import sys\nclass Record: ...\nseen = (__name__, __file__, sys.argv)\n")
    run_job_file(job, ["a", "--b"])
    main = sys.modules["__main__"]
    assert main.seen == ("__main__", str(job), [str(job), "a", "--b"])
    assert main.Record.__module__ == "__main__"


def test_its_errors_name_its_lines(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("def f():\n    raise ValueError('no')\nf()\n")
    with pytest.raises(ValueError, match="no") as caught:
        run_job_file(job, [])
    assert [e.lineno + 1 for e in caught.traceback if str(e.path) == str(job)] == [3, 2]
