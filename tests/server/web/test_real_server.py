"""The web UI of the real server: what its REST API answers is what the pages read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import gallery
import pytest
import uvicorn
from playwright.sync_api import expect
from starlette.applications import Starlette

from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.job_server import JobServer, ServerSettings

TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)


@contextmanager
def served(application: Starlette) -> Iterator[str]:
    """The address at which an application answers."""
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    [port] = {socket.getsockname()[1] for each in server.servers for socket in each.sockets}
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def url(job_server: JobServer) -> Iterator[str]:
    """The real server with jobs of every kind, none of which has a process."""
    with served(create_application(job_server, TOKENS)) as url:
        yield url


PAGES = {
    "/jobs": "brand new",
    f"/jobs/{gallery.RUNNING}": "count -> Sink",
    f"/jobs/{gallery.RUNNING}/checkpoints": "disk full",
    f"/jobs/{gallery.RUNNING}/exceptions": "no number",
    f"/jobs/{gallery.RUNNING}/stacks": "No subtask has been running for more than two seconds",
    f"/jobs/{gallery.RUNNING}/log": "second line",
    f"/jobs/{gallery.RUNNING}/metrics": "words",
    f"/jobs/{gallery.RUNNING}/configuration": "crashed: signal 9",
    f"/jobs/{gallery.FAILED}": "ValueError: no number",
    f"/jobs/{gallery.NEW}": "The job has not reported its graph yet",
    "/savepoints": "There is no savepoint yet",
    "/submit": "--allow-uploads",
    "/server": "host-b:12",
}


def test_every_page_reads_what_the_server_tells(window, url) -> None:
    seen = window()
    seen.open(url, f"token={TOKENS.operate}")
    for path, text in PAGES.items():
        seen.page.goto(f"{url}#{path}")
        expect(seen.page.get_by_text(text).first).to_be_attached()
        expect(seen.page.locator("[aria-busy=true]")).to_have_count(0)
        expect(seen.page.get_by_role("alert").filter(has_text="server answered")).to_have_count(0)


def test_a_real_job_is_watched_and_cancelled(servers, eventually, window, tmp_path) -> None:
    job = servers.counts()
    eventually(lambda: servers.runs(job.id), "a checkpoint")
    settings = ServerSettings(servers.directory, tmp_path / "savepoints", "sqlite:///registry.db")
    server = JobServer(settings, servers.registry, servers.supervisor)
    with served(create_application(server, TOKENS)) as url:
        seen = window()
        seen.open(url, f"token={TOKENS.operate}")
        seen.page.get_by_role("link", name="counting").click()
        expect(seen.page.locator(".heading .status")).to_have_text("Running")
        expect(seen.page.locator(".operator").first).to_be_visible()
        seen.page.get_by_role("link", name="Checkpoints").click()
        expect(seen.page.get_by_text("Completed", exact=True).nth(1)).to_be_visible()
        seen.page.get_by_role("button", name="Cancel", exact=True).click()
        seen.page.get_by_role("button", name="Cancel the job").click()
        eventually(lambda: servers.status(job.id) == "CANCELED", "the end of the job")
        expect(seen.page.locator(".heading .status")).to_have_text("Cancelled")
