"""The page on dynamic rules: its JSON is read, its programs run, its tables know all words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from millrace.cep.rules import RuleChange, RuleError, rule_from_json, rule_to_json
from millrace.cep.rules.condition_form import OPERATORS, field_condition, written_condition
from millrace.cep.rules.forms import PartForm
from millrace.cep.rules.operands import ARITHMETIC, WHICH
from millrace.cep.rules.pattern_form import MOST_OCCURRENCES, SKIPS

PAGE = (Path(__file__).parents[2] / "docs/cep/dynamic-rules.md").read_text()
FOLLOWING = ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "json"])
def test_json(text: str) -> None:
    form = json.loads(text)
    if "rule" not in form:
        assert written_condition(field_condition(form)) == form
        return
    rule = rule_from_json(text)
    if not isinstance(rule, RuleChange):
        written = rule_to_json(rule)
        assert written["pattern"]["within"] == "1 min"
        assert rule_to_json(rule_from_json(written)) == written  # type: ignore[arg-type]


def test_programs(capsys: pytest.CaptureFixture[str]) -> None:
    shared: dict[str, object] = {}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text, "dynamic-rules.md", "exec"), shared)
    printed = "".join(
        text for kind, text in BLOCKS if kind == "text" and "expected one" not in text
    )
    assert capsys.readouterr().out == printed


def test_the_error_is_what_is_said() -> None:
    said = next(text for kind, text in BLOCKS if kind == "text" and "expected one" in text)
    part = {"name": "b", "where": {"field": "a", "op": "=", "value": 1}}
    form = {"format": 1, "rule": "r", "version": 1, "pattern": {"parts": [{"name": "a"}, part]}}
    with pytest.raises(RuleError) as caught:
        rule_from_json(form)
    assert str(caught.value) == said.strip()


@pytest.mark.parametrize(
    "word",
    [
        *OPERATORS,
        *ARITHMETIC,
        *WHICH,
        *FOLLOWING,
        *PartForm.__struct_fields__,
        *SKIPS,
        f"{MOST_OCCURRENCES:,}",
    ],
)
def test_each_word_is_on_the_page(word: str) -> None:
    assert re.search(rf"[`\" ]{re.escape(word)}[`\" ]", PAGE)
