"""The sessions on the pages of docs/applications go as the pages say."""

from __future__ import annotations

from pathlib import Path

import application_pictures as pictures
import gen_application_pages as generator
import pytest

PATIENCE = 180.0
PAGES: list[Path] = generator.pages()


@pytest.mark.turns(7)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_session_goes_as_its_page_says(page: Path) -> None:
    """After a change of an application run scripts/gen_application_pages.py."""
    assert generator.filled(page, PATIENCE, afresh=False) == page.read_text(encoding="utf-8")


def test_programs_on_pages_are_those_of_the_examples() -> None:
    """The shop is no session: it needs servers."""
    for page in generator.with_programs():
        assert generator.with_files(page) == page.read_text(encoding="utf-8"), page


@pytest.mark.parametrize("name", pictures.STILL)
def test_pictures_are_drawn_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of results are compared by the tests of their examples."""
    for example in ("feed", "surge", "payments_rings"):
        monkeypatch.syspath_prepend(pictures.EXAMPLES / example)
    picture = (pictures.PICTURES / f"{name}.svg").read_text("utf-8")
    assert pictures.STILL[name]() == picture
