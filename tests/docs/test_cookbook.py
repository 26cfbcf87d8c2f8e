"""The examples of the cookbook run, and print what its pages say."""

from __future__ import annotations

from pathlib import Path

import gen_cookbook as cookbook
import pytest

ROOT = Path(__file__).parents[2]
PAGES: list[Path] = cookbook.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_its_examples_and_what_they_print(page: Path) -> None:
    """After a change of an example run scripts/gen_cookbook.py."""
    assert page.read_text(encoding="utf-8") == cookbook.filled(page)


def test_every_example_is_on_one_page() -> None:
    shown = [name for page in PAGES for name in cookbook.examples(page)]
    assert sorted(shown) == sorted(
        path.name for path in (ROOT / "docs/cookbook/examples").glob("*")
    )


def test_every_page_has_an_example_that_prints_something() -> None:
    for page in PAGES:
        if page.stem != "index":
            assert cookbook.examples(page), page
        assert "```text\n```" not in page.read_text(encoding="utf-8"), page


def test_every_page_is_in_the_navigation_and_the_index() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    index = (ROOT / "docs/cookbook/index.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"cookbook/{page.name}" in navigation
        assert page.stem == "index" or f"({page.name})" in index


def test_examples_are_short() -> None:
    for path in (ROOT / "docs/cookbook/examples").glob("*.py"):
        assert 15 <= len(path.read_text(encoding="utf-8").splitlines()) <= 40, path.name
