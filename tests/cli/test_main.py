"""The command itself: exit codes of wrong usage, before anything is started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.cli.main import main


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["walk"],
        ["run"],
        ["run", "--no-such-option", "job.py"],
        ["run", "none.py"],
        ["run", "--conf", "no.such.key=1", __file__],
    ],
)
def test_wrong_usage_ends_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(argv)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert capsys.readouterr().err


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "millrace", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("millrace ")


@pytest.mark.parametrize(
    ("package", "words"), [("msgspec", ["list"]), ("pyspark", ["run", "job.py"])]
)
def test_a_package_that_is_missing_is_one_sentence(
    package: str, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text("", encoding="utf-8")
    program = (
        f"import sys; sys.modules[{package!r}] = None; from millrace.cli.main import main; "
        f"sys.exit(main({words!r}))"
    )
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(f"millrace: the package {package} is missing in this Python (")
    assert line.endswith(f"): python -m pip install {package}")


def test_help_and_version_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--version"], ["run", "--help"]):
        with pytest.raises(SystemExit) as end:
            main(argv)
        assert end.value.code == 0
    assert "exit codes" in capsys.readouterr().out


def test_wrong_usage_is_told_at_once(start: Callable[..., subprocess.Popen[str]]) -> None:
    """Without waiting for Spark to be loaded."""
    process = start("run", "none.py")
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (2, "")
    assert err == "millrace: there is no job file none.py\n"
