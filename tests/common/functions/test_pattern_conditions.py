"""Conditions: what is taken for one, and how they are combined."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.pattern_conditions import (
    IterativeCondition,
    SimpleCondition,
    all_of,
    any_of,
    condition_of,
)


class Repeated(IterativeCondition[Any]):
    def filter(self, value: Any, ctx: Any) -> bool:
        return value in ctx


small = condition_of(lambda value: value < 10, "where")
even = condition_of(lambda value: value % 2 == 0, "where")
repeated = condition_of(Repeated(), "where")


@pytest.mark.parametrize(
    ("where", "iterative"),
    [
        (lambda value: True, False),
        (lambda value, ctx: True, True),
        (lambda value, limit=5: value > limit, False),
        (str.isdigit, False),
        (bool, None),
        (SimpleCondition.of(lambda value: True), False),
        (Repeated(), True),
    ],
)
def test_what_a_condition_needs(where: Any, iterative: bool | None) -> None:
    if iterative is None:
        with pytest.raises(JobDefinitionError, match="where\\(\\) takes a condition"):
            condition_of(where, "where")
    else:
        assert condition_of(where, "where").iterative is iterative


def test_both_and_either() -> None:
    assert [v for v in range(20) if all_of(small, even).call(v)] == [0, 2, 4, 6, 8]
    assert [v for v in range(20) if not any_of(small, even).call(v)] == [11, 13, 15, 17, 19]


def test_one_that_sees_more_makes_the_whole_so() -> None:
    both, either = all_of(small, repeated), any_of(repeated, small)
    assert both.iterative
    assert either.iterative
    assert [v for v in (3, 4, 30) if both.call(v, [4, 30])] == [4]
    assert [v for v in (3, 4, 30, 40) if either.call(v, [4, 30])] == [3, 4, 30]


def test_what_is_decided_is_not_asked_further() -> None:
    fails = condition_of(lambda value: 1 / 0, "where")
    assert not all_of(small, fails).call(10)
    assert any_of(small, fails).call(9)


def test_parts_of_the_same_word_are_one_list() -> None:
    combined = any_of(all_of(all_of(small, even), repeated), even)
    assert [part.word for part in combined.parts] == ["and", ""]
    assert combined.leaves() == [small, even, repeated, even]
