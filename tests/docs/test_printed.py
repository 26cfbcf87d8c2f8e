"""Pages of short programs: they run, and print what the page says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("printed", ROOT / "scripts" / "gen_printed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()


@pytest.mark.parametrize("name", generator.PAGES)
def test_a_page_shows_what_its_programs_print(name: str) -> None:
    """After a change of a page run scripts/gen_printed.py."""
    page = generator.DOCS / name
    assert page.read_text(encoding="utf-8") == generator.filled(page)
    assert f" {name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
