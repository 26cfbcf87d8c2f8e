"""The pages that newcomers read first do not forget what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = ["index.md", "coming-from-pyflink.md", "coming-from-structured-streaming.md"]


@pytest.mark.parametrize("page", PAGES)
def test_sql_is_named_and_not_denied(page: str) -> None:
    text = (DOCS / page).read_text()
    assert "](sql/index.md)" in text
    assert "no SQL" not in text
