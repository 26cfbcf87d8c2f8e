"""The names that messages suggest, and how they say it."""

from __future__ import annotations

import re
from pathlib import Path

import millrace
from millrace.common.similar_names import did_you_mean, nearest_name

SOURCE = Path(millrace.__file__).parent
OWN = "common/similar_names.py"


def test_the_known_name_itself_is_no_suggestion() -> None:
    assert nearest_name("price", ["price", "prices"]) == "prices"
    assert nearest_name("price", ["price"]) is None


def test_a_name_of_a_million_letters_takes_no_time() -> None:
    assert did_you_mean("x" * 1_000_000, ["price"], "there is price") == "; there is price"


def test_all_messages_take_their_suggestions_from_here() -> None:
    """Elsewhere the likeness and the words would differ from message to message."""
    others = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"^\s*(from|import) difflib\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert others == {OWN}
