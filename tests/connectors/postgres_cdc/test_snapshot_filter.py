"""Transactions that a query saw, and ids that begin again at zero."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.postgres_cdc.snapshot_filter import DatabaseSnapshot

CYCLE = 1 << 32


@given(st.integers(10, 1 << 40), st.sets(st.integers(0, 50)), st.integers(-1_000, 1_000))
def test_only_the_lower_half_of_an_id_is_known(xmin: int, running: set[int], away: int) -> None:
    ids = {xmin + number for number in running}
    xmax = max(ids, default=xmin) + 1
    snapshot = DatabaseSnapshot(xmin, xmax, frozenset(ids))
    xid = max(0, xmin + away)
    assert snapshot.sees(xid % CYCLE) == (xid < xmax and xid not in ids)
