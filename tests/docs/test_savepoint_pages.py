"""The sessions on the pages of docs/savepoints go as the pages say."""

from __future__ import annotations

from pathlib import Path

import gen_savepoint_pages as generator
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 180.0
PAGES: list[Path] = generator.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_session_goes_as_its_page_says(page: Path) -> None:
    """After a change of an example or a command run scripts/gen_savepoint_pages.py."""
    assert generator.filled(page, PATIENCE) == page.read_text(encoding="utf-8")


def test_every_example_is_on_a_page() -> None:
    shown = {m["name"] for page in PAGES for m in generator.FILE.finditer(page.read_text("utf-8"))}
    examples = ROOT / "docs" / "savepoints" / "examples"
    assert shown == {str(p.relative_to(examples)) for p in examples.rglob("*.*") if p.is_file()}


def test_every_use_has_a_page() -> None:
    assert {page.stem for page in PAGES} == {
        "a-b", "another-machine", "fix-a-bug", "upgrade", "what-if",
    }  # fmt: skip


def test_every_command_is_in_the_reference() -> None:
    from millrace.cli.commands.savepoint import GROUP
    from millrace.cli.parser import create_parser

    reference = (ROOT / "docs" / "savepoints" / "commands.md").read_text("utf-8")
    commands = create_parser()._subparsers._group_actions[0].choices
    for name in commands:
        assert f"`millrace {name}" in reference, name
    for name in set(GROUP) - {"take"}:
        assert f"`millrace savepoint {name}" in reference, name
