"""The types of columns that a snapshot itself tells."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Types
from millrace.common.types.type_information import TypeInformation
from millrace.state.snapshot_entries import shape_of
from millrace.state.snapshot_reader import StateInfo
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state_processor.state_rows import written_types

PAIR = Types.TUPLE([Types.LONG(), Types.STRING()])

S = TableId("op", "s")


@pytest.mark.parametrize(
    ("kind", "declared", "value"),
    [
        ("flat", Types.LONG(), "bigint"),
        ("ttl-flat", PAIR, "struct<`f0`: bigint, `f1`: string>"),
        ("list", Types.LIST(PAIR), "array<struct<`f0`: bigint, `f1`: string>>"),
        ("map", Types.MAP(Types.STRING(), Types.DOUBLE()), "map<string, double>"),
        ("ttl-map", Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()), None),
        ("split-list", Types.LIST(Types.BOOLEAN()), "boolean"),
        ("flat", None, None),
    ],
)
def test_declared_state(kind: str, declared: TypeInformation[Any] | None, value: Any) -> None:
    """Its values need not be looked at."""
    state = SubtaskState()
    state.table(S, kind, declared)
    info = StateInfo(
        S, "Op", kind, shape_of(S, kind), "op", 1, (0,), state.schema(S)
    )  # fmt: skip
    found = written_types(info)
    assert "key" not in found
    assert (found["value"].ddl if "value" in found else None) == value


def test_broadcast_state() -> None:
    """Has the keys of its map."""
    state = SubtaskState()
    state.table(S, "broadcast", Types.MAP(Types.STRING(), Types.DOUBLE()))
    shape = shape_of(S, "broadcast")
    schema = state.schema(S)
    info = StateInfo(S, "Op", "broadcast", shape, "op", 1, (0,), schema)
    assert {name: kind.ddl for name, kind in written_types(info).items()} == {
        "key": "string",
        "value": "double",
    }
