"""The page on the state processor: its programs run, and print what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.main import main
from millrace.common.config import options
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "state-processor.md"
BLOCK = re.compile(r'```(\w+) title="([^"]+)"\n(.*?)```', re.DOTALL)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def blocks() -> dict[str, str]:
    """The blocks of the page by their titles; two have the same."""
    found: dict[str, str] = {}
    for _, title, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        found[title if title not in found else f"{title} 2"] = text
    return found


@pytest.mark.turns(7)
def test_the_page(
    spark: Any,
    blocks: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From the table to the changed savepoint."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(blocks["bootstrap.py"], names)

    with run_local():
        JobLauncher.current().settings.set(options.START_FROM, "first")
        exec(blocks["job.py"], {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed == blocks["The job goes on from the table"].splitlines()[1:]

    commands = re.split(r"^\$ ", blocks["On the command line"], flags=re.MULTILINE)[1:]
    assert len(commands) == 2
    for command in commands:
        line, _, answer = command.partition("\n")
        assert main(shlex.split(line)[1:]) == 0
        assert capsys.readouterr().out == answer

    for program, output in (("ask.py", "Output"), ("change.py", "Output 2")):
        exec(blocks[program], names)
        assert capsys.readouterr().out == blocks[output]
