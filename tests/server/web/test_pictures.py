"""The pictures on the page about the web UI can be taken again, and are small together."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from fake_jobs import FakeJobs
from fake_server import FakeServer
from playwright.sync_api import Browser
from take_pictures import NOW, PAGES, PICTURES, take

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operations" / "web-ui.md"
MOST_BYTES = 800_000
ALIKE = 6.0
"""Mean difference of two pictures, in shades of 255: fonts are not drawn alike everywhere."""
DIFFERENCE = """async (pictures) => {
    const [left, right] = await Promise.all(pictures.map(async (data) => {
        const image = new Image();
        image.src = `data:image/webp;base64,${data}`;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width / 8, image.height / 8);
        const context = canvas.getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return context.getImageData(0, 0, canvas.width, canvas.height).data;
    }));
    if (left.length !== right.length) return 255;
    return left.reduce((sum, shade, at) => sum + Math.abs(shade - right[at]), 0) / left.length;
}"""


@pytest.mark.turns(7)
def test_the_page_shows_each_picture_that_can_be_taken() -> None:
    shown = re.findall(r"pictures/web-ui/([\w-]+)\.webp", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(set(PAGES))


@pytest.mark.turns(7)
def test_pictures_are_there_and_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in PICTURES.iterdir()}
    assert set(sizes) == set(PAGES)
    assert sum(sizes.values()) < MOST_BYTES


def committed(name: str) -> bytes:
    return (PICTURES / f"{name}.webp").read_bytes()


def difference(browser: Browser, *pictures: bytes) -> float:
    """How far two pictures are from each other, seen from a distance."""
    page = browser.new_page()
    try:
        data: Any = [base64.b64encode(each).decode() for each in pictures]
        return float(page.evaluate(DIFFERENCE, data))
    finally:
        page.close()


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", ["jobs", "job-dark", "job-phone", "checkpoints"])
def test_a_picture_shows_the_page_of_today(browser: Browser, name: str) -> None:
    jobs = FakeJobs(lambda: NOW)
    with FakeServer(jobs).running() as server:
        shot = take(browser, server.url, jobs, PAGES[name])
    assert difference(browser, shot, committed(name)) < ALIKE, "run make web-pictures"


@pytest.mark.turns(7)
def test_pages_differ_more_than_is_tolerated(browser: Browser) -> None:
    assert difference(browser, committed("jobs"), committed("jobs")) == 0
    assert difference(browser, committed("jobs"), committed("checkpoints")) > ALIKE
    assert difference(browser, committed("job"), committed("stop")) > ALIKE
