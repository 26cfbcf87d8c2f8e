"""What the page of the pattern API shows is what happens; its diagram is the present one."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from millrace.cep import Pattern

PAGE = Path(__file__).parents[2] / "docs" / "cep" / "pattern-api.md"
SESSION = re.compile(r"^```pycon\n(?P<lines>.*?)^```$", re.DOTALL | re.MULTILINE)
METHODS = [
    *("where", "or_", "until", "subtype", "next", "followed_by", "followed_by_any", "not_next"),
    *("not_followed_by", "times", "times_or_more", "one_or_more", "optional", "greedy"),
    *("consecutive", "allow_combinations", "within", "explain", "to_mermaid", "to_dot"),
]


def sessions() -> str:
    text = PAGE.read_text("utf-8")
    return "\n\n".join(match["lines"] for match in SESSION.finditer(text))


def run() -> tuple[doctest.TestResults, dict[str, object]]:
    test = doctest.DocTestParser().get_doctest(sessions(), {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner()
    return runner.run(test, clear_globs=False), test.globs


def test_sessions_go_as_the_page_says() -> None:
    results, values = run()
    assert results.attempted > 60
    assert results.failed == 0
    assert f"```mermaid\n{values['diagram']}```" in PAGE.read_text("utf-8")


def test_every_method_has_an_example() -> None:
    said = sessions()
    missing = [name for name in METHODS if f".{name}(" not in said]
    assert missing == []
    assert [name for name in METHODS if not hasattr(Pattern, name)] == []
