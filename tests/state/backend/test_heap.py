"""The backend that keeps tables in memory."""

from __future__ import annotations

import pytest

from millrace.state.backend.keyed_state_backend import HeapKeyedStateBackend
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.table_kind import TableKind
from millrace.state.table_id import TableId
from millrace.state.table_kinds import TABLE_KINDS


@pytest.mark.parametrize(
    "kind", [kind for kind in TABLE_KINDS.values() if kind.columnar is None], ids=str
)
def test_every_kind_of_table(kind: TableKind) -> None:
    """Is made, and empty; nothing is found on the host."""
    backend = HeapKeyedStateBackend()
    table = backend.create_table(TableId("op", "x"), kind)
    if kind.layout is Layout.NESTED:
        table.put("a", ("b", "c"), 1)
    else:
        table.put(("w", "a"), [1])
    assert table.entry_count() == 1
    assert backend.create_table(TableId("op", "y"), kind).entry_count() == 0
    assert backend.recover(["v1"]) is None
