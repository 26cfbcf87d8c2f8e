"""The colours of the web UI can be told apart in both themes, as WCAG 2.2 AA asks: texts by 4.5 to
1, fields, bars and lines of charts by 3 to 1."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

STYLES = Path(__file__).resolve().parents[3] / "web" / "src" / "styles"
PAIR = r"light-dark\((#[0-9a-f]{3,6}), (#[0-9a-f]{3,6})\)"
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        rf"--([\w-]+): {PAIR};", (STYLES / "base.css").read_text(encoding="utf-8")
    )
}
FILLED = [
    (back, (light, dark))
    for style in sorted(STYLES.glob("*.css"))
    for back, light, dark in re.findall(
        rf"background: var\(--([\w-]+)\);[^}}]*?color: {PAIR}", style.read_text(encoding="utf-8")
    )
]
"""Backgrounds of marks and buttons that are filled, and the colours of the texts on them."""
TEXTS = ("ink", "muted", "accent", "good", "warn", "bad", "pressure")
BACKS = ("bg", "surface", "raised", "accent-soft", "warn-soft", "bad-soft", "pressure-soft")
MARKS = ("field", "accent", "warn", "pressure", "good", "bad")
THEMES = ("light", "dark")


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_arithmetic_is_that_of_the_standard() -> None:
    assert contrast("#fff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_can_be_read(theme: str) -> None:
    number = THEMES.index(theme)
    pairs = [*product(TEXTS, BACKS), ("accent-ink", "accent")]
    unreadable = [
        pair for pair in pairs if contrast(*(COLOURS[name][number] for name in pair)) < 4.5
    ]
    assert unreadable == []
    assert len(FILLED) > 2
    on_marks = [
        back for back, text in FILLED if contrast(text[number], COLOURS[back][number]) < 4.5
    ]
    assert on_marks == []


@pytest.mark.parametrize("theme", THEMES)
def test_fields_bars_and_lines_are_seen(theme: str) -> None:
    number = THEMES.index(theme)
    pairs = [
        *((mark, "surface") for mark in MARKS),
        *product(("accent", "warn", "pressure"), ["line"]),
    ]
    unseen = [pair for pair in pairs if contrast(*(COLOURS[name][number] for name in pair)) < 3]
    assert unseen == []
