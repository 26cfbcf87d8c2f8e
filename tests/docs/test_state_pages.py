"""The programs on the pages about queryable state and changes of state run, and print what the
pages say."""

from __future__ import annotations

import json
import re
import runpy
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobCancelledError
from millrace.datastream.job_launcher import JobLauncher
from millrace.rest import QueryableStateClient
from millrace.rest.endpoint import RestEndpoint
from millrace.testing import run_local

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r'```(?:python|text|json) title="(?P<name>[^"]+)"\n(?P<text>.*?)```', re.DOTALL)


def blocks(page: str) -> dict[str, str]:
    """The titled blocks of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return {match["name"]: match["text"] for match in BLOCK.finditer(text)}


def write(page: str, directory: Path) -> dict[str, str]:
    found = blocks(page)
    for name, code in found.items():
        if name.endswith(".py"):
            (directory / name).write_text(code, encoding="utf-8")
    return found


def printed(program: str) -> str:
    output = StringIO()
    with redirect_stdout(output):
        runpy.run_path(program, run_name="__main__")
    return output.getvalue()


def test_queryable_state(tmp_path, monkeypatch) -> None:
    """The job goes on while it is asked."""
    monkeypatch.chdir(tmp_path)
    page = write("queryable-state.md", tmp_path)
    (tmp_path / "clicks").mkdir()
    (tmp_path / "clicks" / "a.csv").write_text("alice,/home\nbob,/home\nalice,/cart\n")
    running: list[Any] = []

    def start(client):
        client.start()
        running.append(client)

    with run_local(epoch_limit=10**9):
        monkeypatch.setattr(JobLauncher.current(), "run", start)
        printed("clicks.py")
        (job,) = running
        endpoints = [o for o in job._manager._observers if isinstance(o, RestEndpoint)]
        try:
            assert endpoints[0].view.wait_for(1, 60)
            answer = QueryableStateClient.of_job("checkpoints", "clicks").ask(
                "/jobs/clicks/state/count/clicks-per-user/alice"
            )
            assert printed("ask.py") == page["ask.py prints"]
        finally:
            job.cancel()
            with pytest.raises(JobCancelledError):
                job.result(60)
    shown = json.loads(page["the answer"])
    assert answer.keys() == shown.keys()
    assert (answer["key"], answer["value"]) == (shown["key"], shown["value"])


@pytest.mark.parametrize("program", ["follow.py", "table.py"])
def test_state_changes(tmp_path, monkeypatch, program) -> None:
    monkeypatch.chdir(tmp_path)
    page = write("state-changes.md", tmp_path)
    with run_local():
        printed("stock.py")
        assert printed(program) == page[f"{program} prints"]


def test_every_program_is_tested() -> None:
    """A page that gains one must gain its test."""
    names = {*blocks("queryable-state.md"), *blocks("state-changes.md")}
    assert {name for name in names if name.endswith(".py")} == {
        "clicks.py", "ask.py", "stock.py", "follow.py", "table.py",
    }  # fmt: skip
