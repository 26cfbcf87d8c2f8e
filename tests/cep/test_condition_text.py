"""How conditions are shown to people."""

from __future__ import annotations

import linecache
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millrace.cep import Pattern, SimpleCondition
from millrace.cep.condition_text import text_of
from millrace.common.functions.pattern_conditions import Condition, all_of, any_of, condition_of


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
        (partial(above, 3), "above(3, ...)"),
        (partial(above, limit=[3]), "above(limit=list, ...)"),
        (partial(lambda low, high, value: low < value < high, 3, 5), "3 < value < 5"),
        (partial(lambda value, low: low < value, low=3), "3 < value"),
        (lambda value, n=4, *, m=5: n < value < m, "4 < value < 5"),
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
    assert shown(gone) == "lambda (rules.py:1:15)"


def test_lambdas_of_one_line_of_a_shell_are_told_apart() -> None:
    line = "(lambda value: value > 1, lambda value: value > 2)"
    first, second = eval(compile(line, "<stdin>", "eval"))
    assert shown(first) == "lambda (<stdin>:1:16)"
    assert shown(second) == "lambda (<stdin>:1:41)"


@pytest.mark.parametrize(
    "text",
    ["value > 2", "value.b > 1", "value > 1.0", "other > 1", "[value for n in value]", "value >"],
)
def test_a_source_that_has_changed_since_is_not_shown(tmp_path: Path, text: str) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text("where = lambda value: value > 1\n")
    space: dict[str, Any] = {}
    exec(compile(rules.read_text(), str(rules), "exec"), space)
    assert shown(space["where"]) == "value > 1"
    rules.write_text(f"where = lambda value: {text}\n")
    linecache.clearcache()
    assert shown(space["where"]) == "lambda (rules.py:1:23)"


def test_names_that_mean_something_else_in_a_lambda_stay() -> None:
    n = m = 5
    shadowed = lambda value: [-n for n in value] and n and m  # noqa: E731
    assert shown(shadowed) == "[-n for n in value] and n and 5"
    assert shown(lambda value: sorted(value, key=lambda n: n + m)[n]) == (
        "sorted(value, key=lambda n: n + 5)[n]"
    )
    assert shown(lambda value: (k := value) and n < k).startswith("(k := value)")


def test_lambdas_of_all_kinds_of_places_are_found() -> None:
    class Limits:
        __low = 3

        def where(self) -> Any:
            return lambda value: value > self.__low

        inner = lambda value: next(part for part in value if part)  # noqa: E731

    assert shown(Limits().where()) == "value > self.__low"
    assert shown(Limits.inner) == "next((part for part in value if part))"
    limit = 3
    assert shown(lambda value: value in {1, 2, limit}) == "value in {1, 2, 3}"


def test_combined_conditions_are_bracketed_where_it_matters() -> None:
    small, large = condition_of(is_small, "where"), condition_of(Large(), "where")
    either = condition_of(lambda value: value == 1 or value == 2, "where")  # noqa: PLR1714
    assert text_of(any_of(all_of(small, either), large)) == (
        "(is_small and (value == 1 or value == 2)) or Large"
    )
    assert text_of(any_of(any_of(small, large), small)) == "is_small or Large or is_small"


def test_a_subtype_reads_like_a_sentence() -> None:
    assert text_of(Pattern.begin("a").subtype(int).get_condition()) == "is of class int"
