"""The documentation has the logo, the type and the colours of the web UI."""

from __future__ import annotations

import re
from pathlib import Path

import site_look

ROOT = Path(__file__).parents[2]


def test_files_of_the_look_exist() -> None:
    assert all(path.is_file() for path in site_look.look_files().values())


def test_colours_are_those_of_the_web_ui() -> None:
    ui = (ROOT / "web/src/styles/base.css").read_text(encoding="utf-8")
    pages = (ROOT / "docs/style.css").read_text(encoding="utf-8")
    for name in ("line", "ink", "muted", "accent", "accent-ink", "accent-soft"):
        light, dark = re.findall(rf"--{name}: light-dark\((\S+), (\S+)\);", ui)[0]
        assert re.findall(rf"--look-{name}: (\S+);", pages) == [light, dark]


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert "://" not in (ROOT / "docs/style.css").read_text(encoding="utf-8")
