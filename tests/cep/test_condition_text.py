"""How conditions are shown to people."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from millrace.cep import Pattern, SimpleCondition
from millrace.cep.condition_text import text_of
from millrace.common.pattern_conditions import Condition, all_of, any_of, condition_of


class Large(SimpleCondition[Any]):
    def filter(self, value: Any, ctx: Any = None) -> bool:
        return bool(value > 100)


def is_small(value: Any) -> bool:
    return bool(value < 10)


def above(limit: int, value: int) -> bool:
    return value > limit


def shown(where: Any) -> str:
    return text_of(condition_of(where, "where"))


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (lambda value: value["a"] == 'x"y', "value['a'] == 'x\"y'"),
        (lambda value, ctx: value in ctx.get_events_for_pattern("a"), "value in ctx.get_events_fo"),
        (lambda value: True, "True"),
        (
            lambda value: (
                value > 1  # why
                and value < 9
            ),
            "value > 1 and value < 9",
        ),
        (is_small, "is_small"),
        (partial(above, 3), "above"),
        (Large(), "Large"),
        (SimpleCondition.of(is_small), "is_small"),
        (SimpleCondition.of(lambda value: value != 4), "value != 4"),
        (str.isdigit, "isdigit"),
        (Condition(is_small, text="less  than\n ten"), "less than ten"),
    ],
)
def test_what_is_shown(where: Any, text: str) -> None:
    assert shown(where).startswith(text)


def test_lambdas_of_one_line_are_told_apart() -> None:
    first, second = (lambda value: value == 1), (lambda value: value == 2)
    assert (shown(first), shown(second)) == ("value == 1", "value == 2")


def test_a_lambda_in_a_lambda_is_told_apart() -> None:
    outer = lambda limits: lambda value: value in limits  # noqa: E731
    assert shown(outer({3})) == "value in limits"
    assert shown(outer) == "lambda value: value in limits"


def test_what_a_lambda_knows_is_put_in() -> None:
    def between(low: int, high: Any, kinds: set[str]) -> Any:
        return lambda value: low < value["low"] < high and value["kind"] in kinds

    assert shown(between(3, "x", {"a"})) == "3 < value['low'] < 'x' and value['kind'] in kinds"
    assert shown(between(4, None, set())).startswith("4 < value['low'] < None")


def test_a_lambda_whose_source_is_gone_says_where_it_was() -> None:
    gone = eval(compile("lambda value: value > 1", "/somewhere/rules.py", "eval"))
    assert shown(gone) == "lambda (rules.py:1)"


def test_combined_conditions_are_bracketed_where_it_matters() -> None:
    small, large = condition_of(is_small, "where"), condition_of(Large(), "where")
    either = condition_of(lambda value: value == 1 or value == 2, "where")  # noqa: PLR1714
    assert text_of(any_of(all_of(small, either), large)) == (
        "(is_small and (value == 1 or value == 2)) or Large"
    )
    assert text_of(any_of(any_of(small, large), small)) == "is_small or Large or is_small"


def test_a_subtype_reads_like_a_sentence() -> None:
    assert text_of(Pattern.begin("a").subtype(int).get_condition()) == "is of class int"
