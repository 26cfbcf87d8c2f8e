"""The pages on patterns show their examples as they are, what they print, and how they look."""

from __future__ import annotations

from pathlib import Path

import gen_cep_pages as generator
import pytest

ROOT = Path(__file__).parents[2]
PAGES: list[Path] = generator.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_its_examples_as_they_are(page: Path) -> None:
    """After a change of an example run scripts/gen_cep_pages.py."""
    assert page.read_text("utf-8") == generator.content(page)


def test_every_example_prints_something() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert generator.PRINTS.search(text), page
        assert ' prints"\n```' not in text, page


def test_a_block_ends_at_a_line_of_its_own() -> None:
    page = '```python title="examples/a.py"\nprint("```")\n```\nafter\n'
    found = generator.FILE.search(page)
    assert found is not None
    assert page[found.end() :] == "\nafter\n"
    page = '```text title="examples/a.py prints"\n a ``` b\n```\nafter ```\n'
    assert generator.PRINTS.sub("", page) == "\nafter ```\n"


def test_every_pattern_is_on_a_page() -> None:
    shown = {name for page in PAGES for name in generator.DIAGRAM.findall(page.read_text("utf-8"))}
    assert shown == set(generator.PATTERNS)


def test_every_page_is_in_the_navigation_and_the_index() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    index = (generator.PAGES / "index.md").read_text("utf-8")
    for page in generator.PAGES.glob("*.md"):
        assert f"cep/{page.name}" in navigation, page
        assert page.stem == "index" or f"({page.name})" in index, page
