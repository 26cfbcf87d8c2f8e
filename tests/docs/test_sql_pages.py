"""Pages of SQL statements: they run, and give what the page says."""

from __future__ import annotations

from pathlib import Path

import gen_sql_pages as generator
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", generator.PAGES)
def test_a_page_shows_what_its_statements_give(name: str) -> None:
    """After a change of a page run scripts/gen_sql_pages.py."""
    page = generator.DOCS / name
    assert page.read_text(encoding="utf-8") == generator.filled(page)
    assert f" {name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
