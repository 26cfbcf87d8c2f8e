"""The home page: its programs print what stands there, its figures are those of RESULTS.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gen_home_page as generator
import pytest

ROOT = Path(__file__).parents[2]
TABS = dict(generator.tabs())


def test_there_is_a_program_for_each_api() -> None:
    assert list(TABS) == ["DataStream", "SQL", "Table", "Stateful Functions", "Graphs"]


@pytest.mark.parametrize("title", [title for title in TABS if title != "Graphs"])
def test_a_program_prints_what_the_page_says(title: str) -> None:
    """After a change of the page run scripts/gen_home_page.py."""
    if title == "Stateful Functions":
        pytest.importorskip("statefun")
    assert generator.filled_tab(TABS[title], on_spark=False) == TABS[title]


@pytest.mark.spark
def test_the_program_on_graphs_prints_what_the_page_says(spark: Any) -> None:
    assert generator.filled_tab(TABS["Graphs"], on_spark=True) == TABS["Graphs"]


def test_the_first_program_is_an_example() -> None:
    [program] = re.findall(r"```python[^\n]*\n(.*?)```", TABS["DataStream"], re.DOTALL)
    assert program == (ROOT / "examples" / "visits.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", generator.PAGES, ids=lambda page: page.name)
def test_figures_are_those_of_the_results(page: Path) -> None:
    assert generator.with_figures(page) == page.read_text(encoding="utf-8")
    assert "**1.12M** | 8.9K (125x) | 10.1K (110x) |" in generator.figures()


def test_a_row_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = generator.Comparison("gone", pyflink="no such row")
    monkeypatch.setattr(generator, "COMPARISONS", (gone,))
    with pytest.raises(generator.MissingFigureError, match="no row 'no such row'"):
        generator.figures()
