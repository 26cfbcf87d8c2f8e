"""A window of a browser, and what the page in it complained of."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Page

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1400, "height": 900}


@dataclass
class Window:
    """A page, and what it complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def open(self, url: str, path: str = "") -> None:
        """Load the UI at a page of it."""
        self.page.goto("about:blank")
        self.page.goto(f"{url}#{path}")
