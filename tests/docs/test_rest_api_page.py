"""The page on the REST API has every route."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "gen_rest_api_page.py"


def test_the_page_is_up_to_date() -> None:
    generator = runpy.run_path(str(SCRIPT))
    text = generator["PAGE"].read_text(encoding="utf-8")
    assert generator["page_with_table"](text) == text, f"run python scripts/{SCRIPT.name}"
