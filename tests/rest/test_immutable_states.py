"""State that was asked for has its methods, and refuses to be changed."""

from __future__ import annotations

import pytest

from millrace.common.errors import StateError
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.rest.immutable_states import immutable_state

MAP = immutable_state(MapStateDescriptor("m"), {"a": 1})
LIST = immutable_state(ListStateDescriptor("l"), [1])
VALUE = immutable_state(ValueStateDescriptor("v"), 1)
TOTAL = immutable_state(ReducingStateDescriptor("r", max), 1)


def test_reading() -> None:
    assert (VALUE.value(), LIST.get(), list(LIST), TOTAL.get()) == (1, [1], [1], 1)
    assert (MAP.get("a"), MAP.get("b"), MAP.contains("a"), MAP.is_empty()) == (1, None, True, False)
    assert (MAP.keys(), MAP.values(), MAP.items()) == (["a"], [1], [("a", 1)])


@pytest.mark.parametrize(
    "change",
    [
        VALUE.clear,
        lambda: VALUE.update(2),
        lambda: LIST.add(2),
        lambda: LIST.add_all([2]),
        lambda: LIST.update([2]),
        lambda: TOTAL.add(2),
        lambda: MAP.put("a", 2),
        lambda: MAP.put_all({"a": 2}),
        lambda: MAP.remove("a"),
        MAP.clear,
    ],
)
def test_changing(change) -> None:
    with pytest.raises(StateError, match="only the job can"):
        change()
