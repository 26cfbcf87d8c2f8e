"""The page of a connector is enough to appear in the navigation and in the lists of connectors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import connector_pages
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def nats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new connector and its page, in a project that has another page in this directory."""
    for name in ("PAGES", "CODE", "ROOT"):
        monkeypatch.setattr(connector_pages, name, tmp_path)
    front = "---\nreads: not bounded\nwrites: subjects\nguarantee: at least once\n---\n\n"
    (tmp_path / "nats.md").write_text(f"{front}# NATS\n\nIt ends with `nats.py`.\n")
    (tmp_path / "formats.md").write_text("# Formats\n")
    (tmp_path / "nats.py").write_text('__all__ = ["NatsSink", "NatsSource"]\n')
    extras = '[project.optional-dependencies]\nnats = ["nats-py>=2"]\n'
    (tmp_path / "pyproject.toml").write_text(extras)


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("connectors/index.md", "| [NATS](nats.md) | not bounded | subjects | at least once |"),
        (
            "install.md",
            "| `pip install 'millrace[nats]'` | nats-py | "
            "[NATS](connectors/nats.md): source and sink |",
        ),
        ("api/connectors.md", "## NATS"),
        ("api/connectors.md", "::: millrace.connectors.nats.NatsSource"),
    ],
)
def test_lists_of_connectors_have_the_new_one(page: str, line: str) -> None:
    markdown = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = connector_pages.on_page_markdown(markdown).splitlines()
    assert line in shown
    assert line not in markdown
    assert not any(
        "formats.md)" in shown_line for shown_line in set(shown) - {*markdown.splitlines()}
    )


def test_the_navigation_has_the_page() -> None:
    config: Any = SimpleNamespace(
        nav=[{"Install": "install.md"}, {"Connectors": ["connectors/index.md", "connectors/x.md"]}]
    )
    assert connector_pages.on_config(config).nav[1] == {
        "Connectors": ["connectors/index.md", {"NATS": "connectors/nats.md"}, "connectors/x.md"]
    }


def test_a_connector_that_the_reference_shows_by_itself_is_not_repeated() -> None:
    shown = "::: millrace.connectors.nats.NatsSink\n"
    marker = "<!-- connectors: reference -->\n"
    assert connector_pages.expanded(shown + marker) == shown
