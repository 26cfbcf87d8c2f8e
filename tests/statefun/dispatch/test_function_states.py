"""States of functions."""

from __future__ import annotations

import pytest

from millrace.state.nested_table import NestedTable
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.dispatch.function_states import FunctionStates
from millrace.statefun.invocation.batch import StateSpec
from millrace.statefun.protocol import AFTER_INVOKE, AFTER_WRITE

ADA = Address("example", "greeter", "Ada")
VALUE = TypedValue("t/t", True, b"1")


@pytest.mark.parametrize("mode", [AFTER_WRITE, AFTER_INVOKE])
@pytest.mark.parametrize("is_read", [True, False])
def test_a_state_that_gets_a_time_to_live_keeps_its_values_for_that_time(
    mode: int, is_read: bool
) -> None:
    now = [1_000_000]
    table = NestedTable(lambda outer, inner: outer)
    before = FunctionStates(table, lambda: now[0])
    before.register(ADA.function_type, (StateSpec("seen", "t/t"),))
    before.change(ADA, {"seen": VALUE})
    after = FunctionStates(table, lambda: now[0])
    after.register(ADA.function_type, (StateSpec("seen", "t/t", mode, 500),))
    after.sweep()
    if is_read:
        assert after.read(ADA) == {"seen": VALUE}
    now[0] += 499
    after.sweep()
    assert table.data
    now[0] += 1
    after.sweep()
    assert not table.data
