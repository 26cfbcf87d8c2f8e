"""A real browser that looks at the web UI."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from playwright.sync_api import Browser, ConsoleMessage, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from browser_window import DESKTOP, Window  # beside this file: tests are no packages
from fake_jobs import FakeJobs
from fake_server import FakeServer

DEADLINE_MS = 60_000
"""Only ends tests that have failed."""

expect.set_options(timeout=DEADLINE_MS)


# of a module: while Playwright runs, its event loop is the thread's, and other tests have their own
@pytest.fixture(scope="module")
def browser(chromium: Chromium) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def window(browser: Browser) -> Iterator[Callable[..., Window]]:
    """Makes windows; at the end none of them may have complained."""
    windows: list[Window] = []
    contexts: list[Any] = []

    def made(**options: Any) -> Window:
        settings = {"viewport": DESKTOP, "color_scheme": "light", "timezone_id": "UTC", **options}
        context = browser.new_context(**settings)
        context.set_default_timeout(DEADLINE_MS)
        contexts.append(context)
        window = Window(context.new_page())
        window.page.on("pageerror", lambda error: window.complaints.append(str(error)))
        window.page.on(
            "console",
            lambda said: window.complaints.append(said.text) if _is_fault(said) else None,
        )
        windows.append(window)
        return window

    yield made
    for context in contexts:
        context.close()
    assert [window.complaints for window in windows] == [[] for _ in windows]


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    """A server of made-up jobs that wants no token."""
    with FakeServer(FakeJobs(lambda: round(time.time() * 1000))).running() as server:
        yield server


def _is_fault(said: ConsoleMessage) -> bool:
    """At the end of a test the server may end before the window that asks it."""
    return said.type == "error" and "net::ERR_" not in said.text
