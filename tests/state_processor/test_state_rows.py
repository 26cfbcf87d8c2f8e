"""The types of columns that a snapshot itself tells."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Types
from millrace.common.types.logical.spark_type import spark_ddl
from millrace.common.types.type_information import TypeInformation
from millrace.state.kinds.table_kind import TableKind
from millrace.state.snapshot_reader import StateInfo
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import BROADCAST, FLAT, LIST, MAP, SPLIT_LIST, TTL_FLAT, TTL_MAP
from millrace.state_processor.state_rows import written_types

PAIR = Types.TUPLE([Types.LONG(), Types.STRING()])

S = TableId("op", "s")


@pytest.mark.parametrize(
    ("kind", "declared", "value"),
    [
        (FLAT, Types.LONG(), "bigint"),
        (TTL_FLAT, PAIR, "struct<`f0`: bigint, `f1`: string>"),
        (LIST, Types.LIST(PAIR), "array<struct<`f0`: bigint, `f1`: string>>"),
        (MAP, Types.MAP(Types.STRING(), Types.DOUBLE()), "map<string, double>"),
        (TTL_MAP, Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()), None),
        (SPLIT_LIST, Types.LIST(Types.BOOLEAN()), "boolean"),
        (FLAT, None, None),
    ],
)
def test_declared_state(kind: TableKind, declared: TypeInformation[Any] | None, value: Any) -> None:
    """Its values need not be looked at."""
    state = SubtaskState()
    state.table(S, kind, declared)
    info = StateInfo(
        S, "Op", kind, "op", 1, (0,), state.schema(S)
    )  # fmt: skip
    found = written_types(info)
    assert "key" not in found
    assert (spark_ddl(found["value"]) if "value" in found else None) == value


def test_broadcast_state() -> None:
    """Has the keys of its map."""
    state = SubtaskState()
    state.table(S, BROADCAST, Types.MAP(Types.STRING(), Types.DOUBLE()))
    schema = state.schema(S)
    info = StateInfo(S, "Op", BROADCAST, "op", 1, (0,), schema)
    assert {name: spark_ddl(kind) for name, kind in written_types(info).items()} == {
        "key": "string",
        "value": "double",
    }
