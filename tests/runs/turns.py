"""Families of slow tests that take turns: ``make test`` runs some of each family, every day others.

A test with ``pytest.mark.turns(n)`` runs on every n-th day. The day is that of the commit: all runs
of a commit run the same tests, so a run judges the change and not the calendar.
`scripts/run_tests.sh` sets the environment variable ``MILLRACE_TURN``. Without it all tests run, as
when a file is named on the command line, and in ``make torture``. Choose an ``n`` that shares no
factor with the number of parameters: a day would otherwise have the same one in each test. With
``together=True`` the tests of a file have the same day, if what they share is slow to start; with
``shift``, it is that many days earlier, so that two groups of a file have different days.

With ``MILLRACE_ALL_TURNS`` no test is left out: those that failed are tried again by themselves.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

import pytest

__all__ = ["has_its_turn", "pytest_collection_modifyitems", "some_of"]

Item = TypeVar("Item")
_ELSEWHERE = "torture", "connectors"
"""Marks of tests that ``make test`` leaves out: counted, they would take the turns of others."""


def has_its_turn(turn: int, every: int, file: str, index: int) -> bool:
    """Whether a test runs. The file shifts the days, so that no day has all that is slow."""
    return (zlib.crc32(file.encode()) + index + turn) % every == 0


def some_of(items: Iterable[Item], every: int) -> list[Item]:
    """The items of one test that have their turn, such as pages that it opens; all, by hand."""
    turn = os.environ.get("MILLRACE_TURN")
    given = list(items)
    return given[int(turn) % every :: every] if turn else given


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of a file that do not have their turn."""
    turn = os.environ.get("MILLRACE_TURN")
    if not turn or os.environ.get("MILLRACE_ALL_TURNS"):
        return
    seen: dict[tuple[str, int], int] = defaultdict(int)
    left_out: list[pytest.Item] = []
    for item in items:
        mark = _mark(item)
        if mark is None:
            continue
        (every,) = mark.args
        file = item.nodeid.partition("::")[0]
        index = seen[file, every] + mark.kwargs.get("shift", 0)
        if not mark.kwargs.get("together"):
            seen[file, every] += 1
        if not has_its_turn(int(turn), int(every), file, index):
            left_out.append(item)
    if left_out:
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


def _mark(item: pytest.Item) -> pytest.Mark | None:
    """The mark of a test that takes turns; None if it always runs, or never in ``make test``."""
    if any(item.get_closest_marker(name) for name in _ELSEWHERE):
        return None
    return item.get_closest_marker("turns")
