"""The sessions on the pages of docs/applications go as the pages say."""

from __future__ import annotations

from pathlib import Path

import gen_application_pages as generator
import pytest

PATIENCE = 180.0
PAGES: list[Path] = generator.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_session_goes_as_its_page_says(page: Path) -> None:
    """After a change of an application run scripts/gen_application_pages.py."""
    assert generator.filled(page, PATIENCE, afresh=False) == page.read_text(encoding="utf-8")


def test_programs_on_pages_are_those_of_the_examples() -> None:
    """The shop is no session: it needs servers."""
    for page in generator.with_programs():
        assert generator.with_files(page) == page.read_text(encoding="utf-8"), page
