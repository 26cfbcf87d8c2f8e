"""The collector of reference cycles rests while records are worked on, and only then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from millrace.cep import Pattern
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import OperatorHarness, match, run_local
from millrace.testing.paused_collector import paused_collector


@pytest.fixture(autouse=True)
def switched_back() -> Iterator[None]:
    before = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if before else gc.disable)()


def test_it_is_on_again_whatever_happens() -> None:
    with suppress(ZeroDivisionError), paused_collector():
        assert not gc.isenabled()
        _ = 1 / 0
    assert gc.isenabled()


def test_where_it_is_off_it_stays_off() -> None:
    gc.disable()
    with paused_collector(), paused_collector():
        pass
    assert not gc.isenabled()


def test_functions_run_without_it() -> None:
    seen = []

    def note(value: int) -> bool:
        seen.append(gc.isenabled())
        return True

    match(Pattern.begin("a").where(note), [1])
    harness = OperatorHarness(lambda stream: stream.filter(note))
    harness.process_element(1)
    assert seen == [False, False]
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        enabled = env.from_collection([1]).map(lambda value: gc.isenabled())
        assert list(enabled.execute_and_collect()) == [False]
    assert gc.isenabled()
