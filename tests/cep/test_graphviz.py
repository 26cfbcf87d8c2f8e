"""Patterns as Graphviz text."""

from __future__ import annotations

import re

from millrace.cep import Pattern
from millrace.common.functions.pattern_conditions import Condition


def test_nodes_and_edges() -> None:
    pattern = Pattern.begin("a").where(lambda value: value < 3).followed_by("b").one_or_more()
    lines = pattern.within(1000).to_dot().splitlines()
    assert lines[0] == "digraph pattern {"
    assert lines[-1] == "}"
    assert lines[4:] == [
        r'  label="from the first event to the last: less than 1 s\nafter a match: no_skip";',
        '  n0 [label="begin", shape=circle];',
        r'  n1 [label="a\nvalue < 3"];',
        r'  n2 [label="b\nany event"];',
        '  n3 [label="match", shape=doublecircle];',
        '  n0 -> n1 [label="", style=solid];',
        '  n1 -> n2 [label="followed_by", style=dashed];',
        '  n2 -> n2 [label="followed_by", style=dashed];',
        '  n2 -> n3 [label="", style=solid];',
        "}",
    ]


def test_quotes_and_backslashes_end_no_string() -> None:
    pattern = Pattern.begin('say "a\\').next("b").where(lambda value: value == "\\\"'")
    dot = pattern.to_dot()
    assert r'"say \"a\\\nany event"' in dot
    assert r'label="b\nvalue == ' in dot
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    assert '"' not in outside
    assert "\\" not in outside
    assert "value" not in outside


def test_characters_that_are_no_text_are_replaced() -> None:
    condition = Condition(bool, text="a\x00\x1b[31mb\ud800")
    dot = Pattern.begin("a").where(condition).to_dot()
    assert 'label="a\\na\ufffd\ufffd[31mb\ufffd"' in dot
    assert dot.encode()
