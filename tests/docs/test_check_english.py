"""`scripts/check_english.py` finds lines that must be read twice, and accepts their new forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_english import check_module


def messages(name: str, docstring: str) -> list[str]:
    """What is wrong with the docstring of a function with a name."""
    text = f'"""A module."""\n\n\ndef {name}():\n    """{docstring}"""\n'
    return [finding.message for finding in check_module(Path("module.py"), text)]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("cancel", "End the job at once.", "End the job immediately."),
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


def test_rules_for_first_paragraphs_leave_the_others_alone() -> None:
    assert not messages("cancel", "End the job.\n\n    The threads end at once.\n    ")
    assert not messages("url", "The server's URL.")
