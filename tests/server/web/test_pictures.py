"""The pictures on the page about the web UI can be taken again, and are small together."""

from __future__ import annotations

import re
from pathlib import Path

from take_pictures import PAGES, PICTURES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operations" / "web-ui.md"
MOST_BYTES = 600_000


def test_the_page_shows_each_picture_that_can_be_taken() -> None:
    shown = re.findall(r"pictures/web-ui/([\w-]+)\.webp", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(set(PAGES))


def test_pictures_are_there_and_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in PICTURES.iterdir()}
    assert set(sizes) == set(PAGES)
    assert sum(sizes.values()) < MOST_BYTES
