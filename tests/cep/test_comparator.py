"""What a comparator may be, and what it may return."""

from __future__ import annotations

import pickle
from decimal import Decimal
from operator import sub
from typing import Any

import pytest

from millrace.cep.comparator import CheckedComparator, checked_comparator
from millrace.common.errors import JobDefinitionError, JobExecutionError


class ByLength:
    def compare(self, one: str, other: str) -> int:
        return len(one) - len(other)


@pytest.mark.parametrize("comparator", [5, int, ByLength, lambda one: 0, lambda a, b, c: 0])
def test_what_is_none_is_refused(comparator: Any) -> None:
    with pytest.raises(JobDefinitionError, match="the comparator must be a callable of two events"):
        checked_comparator(comparator)


def test_it_is_a_callable_or_an_object_or_nothing() -> None:
    by_length = checked_comparator(ByLength())
    assert by_length is not None
    assert by_length("abc", "a") == 2
    assert checked_comparator(None) is None


@pytest.mark.parametrize(("one", "other"), [(3, 5), (1.5, 2.25), (Decimal(1), Decimal(2))])
def test_it_may_return_any_number(one: Any, other: Any) -> None:
    assert CheckedComparator(sub)(one, other) < 0


@pytest.mark.parametrize("order", [True, False, None, "1"])
def test_what_is_no_number_orders_nothing(order: Any) -> None:
    """`one > other` would never be negative, so it would leave events as they are."""

    def greater(one: Any, other: Any) -> Any:
        return order

    with pytest.raises(JobExecutionError, match=f"greater.* returned {order!r}; a comparator of"):
        CheckedComparator(greater)(1, 2)


def test_it_goes_to_workers() -> None:
    assert pickle.loads(pickle.dumps(CheckedComparator(sub)))(5, 3) == 2
