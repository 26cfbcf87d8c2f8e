"""`scripts/check_english.py` finds lines that must be read twice, and accepts their new forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_english import check_module, check_page


def messages(name: str, docstring: str) -> list[str]:
    """What is wrong with the docstring of a function with a name."""
    text = f'"""A module."""\n\n\ndef {name}():\n    """{docstring}"""\n'
    return [finding.message for finding in check_module(Path("module.py"), text)]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("cancel", "End the job at once.", "End the job immediately."),
        ("stop", "At once end the job.", "End the job immediately."),
        ("wait", "Meanwhile, other threads work.", "Wait, while other threads work."),
        ("wait", "Wait; other threads work meanwhile.", "Wait, while other threads work."),
        ("clear", "Called when the window is gone for good.", "Called after the window's end."),
        ("limit", "Limit of rows: 5 unless set.", "Limit of rows; 5 by default."),
        ("post", "Answer to POST; raises as `get`.", "Answer to POST; raises the errors of `get`."),
        ("enable", "Without effect: there is one.", "Store a setting that has no effect."),
        ("within", "Edges of which both ends are given.", "Edges whose two ends are given."),
        ("set_url", "The server's URL.", "Set the server's URL."),
        ("state", "Of a process, its state.", "The state of a process."),
    ],
)
def test_each_rule_finds_the_old_form_and_not_the_new_one(
    name: str, before: str, after: str
) -> None:
    assert messages(name, before)
    assert not messages(name, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ctrl-C ends it at once.", "Ctrl-C ends it immediately."),
        ("| limit | Meanwhile the job waits |", "| limit | the job waits until then |"),
        ("A job that ended for good.", "A job that is not resumed."),
        ("Rows: 5 unless set.", "Rows: 5 by default; `unless set` is code."),
    ],
)
def test_words_with_two_meanings_are_found_on_pages(before: str, after: str) -> None:
    page = Path("docs/page.md")
    assert list(check_page(page, f"# A page\n\n{before}\n"))
    assert not list(check_page(page, f"# A page\n\n{after}\n"))
    assert not list(check_page(page, f"# A page\n\n```text\n{before}\n```\n"))
    assert not list(check_page(Path("docs/decisions/0001-x.md"), f"{before}\n"))


def test_rules_for_first_paragraphs_leave_the_others_alone() -> None:
    assert not messages("cancel", "End the job.\n\n    The threads end at once.\n    ")
    assert not messages("url", "The server's URL.")
