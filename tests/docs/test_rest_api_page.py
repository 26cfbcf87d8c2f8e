"""The page on the REST API has every route."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import gen_rest_api_page as generator  # the scripts are no package


def test_the_page_is_up_to_date() -> None:
    text = generator.PAGE.read_text(encoding="utf-8")
    assert generator.page_with_table(text) == text, "run python scripts/gen_rest_api_page.py"
