"""Conditions are shown as they are written."""

from __future__ import annotations

from typing import Any

from millrace.common.pattern_conditions import (
    Condition,
    SimpleCondition,
    all_of,
    any_of,
    condition_of,
)
from millrace.testing.condition_text import condition_text


def text(condition: Any) -> str:
    return condition_text(condition_of(condition, "where"))


def large(value: int) -> bool:
    return value > 9


class Even(SimpleCondition[int]):
    def filter(self, value: int, ctx: Any = None) -> bool:
        return value % 2 == 0


def test_a_lambda_by_its_body() -> None:
    assert text(lambda value: value["x"] > 3) == "value['x'] > 3"
    both = [lambda value: value > 1, lambda value: value > 2]
    assert [text(condition) for condition in both] == ["value > 1", "value > 2"]
    nested = lambda value: sorted(value, key=lambda part: -part)[0] > 3  # noqa: E731
    assert text(nested) == "sorted(value, key=lambda part: -part)[0] > 3"


def test_what_a_lambda_knows() -> None:
    def above(limit: int) -> Any:
        return lambda value: value > limit

    assert text(above(3)) == "value > limit [limit=3]"


def test_names() -> None:
    assert text(large) == "large"
    assert text(Even()) == "Even"
    assert text(SimpleCondition.of(large)) == "large"


def test_no_source() -> None:
    assert text(eval("lambda value: value > 3")) == "a lambda"


def test_a_better_text_wins() -> None:
    assert condition_text(Condition(large, source=large, text="value > 9 (rule 7)")) == (
        "value > 9 (rule 7)"
    )


def test_combined() -> None:
    one, two = condition_of(large, "where"), condition_of(Even(), "where")
    assert condition_text(all_of(one, two)) == "(large) and (Even)"
    assert condition_text(any_of(all_of(one, two), two)) == "((large) and (Even)) or (Even)"
