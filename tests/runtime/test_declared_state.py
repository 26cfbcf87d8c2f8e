"""Operator state as operators use it."""

from __future__ import annotations

import pytest

from millrace.common.errors import StateError
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.operator import Operator, OperatorContext
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.store import SubtaskState

MARK = OperatorStateDeclaration("mark", RedistributionMode.SMALLEST_WATERMARK)
SPLITS = OperatorStateDeclaration("splits", RedistributionMode.SOURCE_SPLIT)
OTHER = OperatorStateDeclaration("other", RedistributionMode.UNION)


class Reader(Operator):
    operator_states = MARK, SPLITS

    def __init__(self) -> None:
        self.context = OperatorContext("op", "Reader", 0, 1, 128, SubtaskState(), lambda: 0)


def test_a_value_is_written_when_it_changes() -> None:
    reader = Reader()
    mark, state = DeclaredValue(reader, MARK), reader.context.state
    assert mark.get(7) == 7
    mark.put(8)
    assert state.snapshot(1, "1") is not None
    state.align("1", (), lambda delta: b"")
    mark.put(8)
    assert state.snapshot(2, "2") is None
    mark.remove()
    assert mark.get() is None


def test_a_value_per_split() -> None:
    splits = DeclaredValue(Reader(), SPLITS)
    splits.put(1, "a")
    splits.put(2, "b")
    splits.remove("a")
    assert (splits.get(None, "a"), splits.get(None, "b")) == (None, 2)


def test_what_is_not_declared_cannot_be_used() -> None:
    for use in (DeclaredValue, declared_table):
        with pytest.raises(StateError, match="operator 'Reader' uses state 'other' without"):
            use(Reader(), OTHER)
