"""The page of limits leads to every page that has some."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LIMITS = (DOCS / "limits.md").read_text(encoding="utf-8")
SIGNS = re.compile(
    r"^#+ .*\b(refused|refuses|[Ll]imits|does not run)\b.*$"
    r"|\b[Nn]ot supported\b|\bnot planned\b|^Refused: ",
    re.MULTILINE,
)
"""Headings and words by which a page says what it does not do."""
CODE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("api/", "decisions/", "how-it-works/")
"""Reasons and references; limits of names are in their rows."""


def pages_with_limits() -> list[str]:
    pages = []
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        text = CODE.sub("", path.read_text(encoding="utf-8"))
        if name != "limits.md" and not name.startswith(ELSEWHERE) and SIGNS.search(text):
            pages.append(name)
    return pages


@pytest.mark.parametrize("page", pages_with_limits())
def test_a_page_with_limits_is_linked(page: str) -> None:
    assert re.search(rf"\]\({re.escape(page)}[)#]", LIMITS)


def test_pages_with_limits_are_found() -> None:
    assert {"sql/queries/over.md", "connectors/kinesis.md", "operations/executors.md"} <= set(
        pages_with_limits()
    )
