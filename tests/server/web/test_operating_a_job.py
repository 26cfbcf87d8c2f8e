"""What people do to jobs in the web UI, with the real server and real jobs, from upload to end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from server_group import JOBS, RunningServer, ServerGroup, await_that

pytestmark = pytest.mark.fault


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    group = ServerGroup(tmp_path)
    yield group.start(f"sqlite:///{tmp_path}/registry.db", "file")
    group.close()


def act(page: Page, control: str, action: str, **fields: str) -> None:
    """Press a button of the job, fill its dialog, confirm."""
    page.get_by_role("button", name=control, exact=True).click()
    dialog = page.get_by_role("dialog")
    for label, text in fields.items():
        dialog.get_by_label(label).fill(text)
    dialog.get_by_role("button", name=action).click()


def is_now(page: Page, state: str) -> None:
    expect(page.locator(".heading .status")).to_have_text(state)


def job_of(page: Page) -> str:
    page.wait_for_url("**/#/jobs/*")
    return page.url.rpartition("/")[2]


@pytest.mark.turns(7)
def test_from_upload_to_end(window, server: RunningServer, tmp_path: Path) -> None:
    page = window().page
    page.goto(f"{server.url}/#/submit")
    page.locator("input[type=file]").set_input_files(JOBS / "totals.py")
    page.get_by_label("Arguments").fill(str(tmp_path / "out"))
    page.get_by_role("button", name="Submit", exact=True).click()
    job = job_of(page)
    is_now(page, "Running")
    expect(page.get_by_role("img", name=re.compile(r"^Latency in .* now \d+ ms"))).to_be_visible()

    act(page, "Savepoint", "Take savepoint")
    expect(page.get_by_text("Savepoint taken: ")).to_be_visible()
    act(page, "Rescale", "Rescale", Parallelism="2")
    expect(page.get_by_text("The job runs with parallelism 2.")).to_be_visible()
    is_now(page, "Running")
    widest = lambda: max(v["parallelism"] for v in server.get(f"/jobs/{job}")["vertices"])  # noqa: E731
    await_that(lambda: widest() == 2, "two subtasks")

    branch = branched(page, tmp_path)
    assert branch != job
    is_now(page, "Running")
    await_that(lambda: server.get(f"/jobs/{branch}/checkpoints")["latest"]["restored"], "restore")
    act(page, "Stop", "Stop the job")
    expect(page.get_by_text("The job has stopped. Its savepoint: ")).to_be_visible()
    is_now(page, "Finished")

    compared(page)
    page.goto(f"{server.url}/#/jobs/{job}")
    act(page, "Cancel", "Cancel the job")
    is_now(page, "Cancelled")
    states = {each["jid"]: each["state"] for each in server.get("/jobs/overview")["jobs"]}
    assert states == {job: "CANCELED", branch: "FINISHED"}


def branched(page: Page, directory: Path) -> str:
    """A second job from the savepoint of the first."""
    page.get_by_role("navigation").get_by_role("link", name="Savepoints").click()
    page.get_by_role("link", name="Branch off the Savepoint").click()
    page.get_by_role("radio", name="totals.py").check()
    page.get_by_label("Arguments").fill(str(directory / "branch"))
    page.get_by_role("button", name="Submit", exact=True).click()
    return job_of(page)


def compared(page: Page) -> None:
    """The savepoint of the first job, and that of the second one at its end."""
    page.get_by_role("navigation").get_by_role("link", name="Savepoints").click()
    boxes = page.get_by_role("checkbox", name="Choose the Savepoint")
    expect(boxes).to_have_count(2)
    boxes.first.check()
    boxes.last.check()
    page.get_by_role("button", name="Compare the two").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare savepoints")
    expect(page.locator(".changes .changed").first).to_be_visible()
