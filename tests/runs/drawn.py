"""Sizes of property tests.

``make test`` draws a few examples, which finds what is wrong at large: of each property a third of
those that the test asks for, but at least fifteen of them. Whoever runs a file by hand draws all.
A property with the mark ``all_examples`` draws all in ``make test``, too. If examples are whole
jobs, ``make torture`` sets ``MILLRACE_EXAMPLES`` and draws that many times as many.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

__all__ = ["fewer", "job_examples", "pytest_collection_modifyitems"]

LEAST_DRAWN = 15
_OF_THE_TEST = "_hypothesis_internal_use_settings"
_IS_SMALLER = "_millrace_draws_fewer"


def job_examples(count: int) -> int:
    """The value of ``max_examples`` for a test that has ``count`` in ``make test``."""
    return count * int(os.environ.get("MILLRACE_EXAMPLES", "1"))


def fewer(count: int) -> int:
    """The number of examples in ``make test`` of a property that asks for ``count``."""
    return max(count // 3, min(count, LEAST_DRAWN))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give property tests fewer examples if slow tests take turns, as in ``make test``."""
    if not os.environ.get("MILLRACE_TURN"):
        return
    for item in items:
        if item.get_closest_marker("all_examples") is not None:
            continue
        method = getattr(item, "obj", None)
        function = getattr(method, "__func__", method)
        asked = getattr(function, _OF_THE_TEST, None)
        # parameters share their function
        if asked is not None and not hasattr(function, _IS_SMALLER):
            drawn = settings(asked, max_examples=fewer(asked.max_examples))
            setattr(function, _OF_THE_TEST, drawn)
            setattr(function, _IS_SMALLER, True)
