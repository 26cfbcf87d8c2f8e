from __future__ import annotations

from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.batch import Batch, ColumnBatch, ImmutableRows, RowBatch
from millrace.runtime.gathered_rows import GatheredRows


class Taken:
    """Notes what each input got, in order."""

    def __init__(self, name: str, log: list[tuple[str, RowBatch[Any]]]) -> None:
        self._name = name
        self._log = log

    def emit(self, batch: Batch) -> None:
        self._log.append((self._name, batch.to_rows()))

    def emit_watermark(self, timestamp: int) -> None:
        raise AssertionError(timestamp)


pieces = st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.integers(1, 4)), max_size=20)


@given(pieces, st.integers(1, 6))
def test_every_input_gets_all_its_records_in_order_and_neighbours_are_joined(chosen, limit) -> None:
    log: list[tuple[str, RowBatch[Any]]] = []
    inputs = {name: Taken(name, log) for name in "ab"}
    gathered = GatheredRows(limit)
    sent = []
    for number, (name, timed, count) in enumerate(chosen):
        values = [(number, index) for index in range(count)]
        gathered.add(inputs[name], RowBatch(list(values), [number] * count if timed else None))
        sent += [(name, timed, value) for value in values]
    gathered.hand_on()
    got = [(name, b.timestamps is not None, value) for name, b in log for value in b.values]
    assert got == sent
    assert all(b.timestamps in (None, [value[0] for value in b.values]) for _, b in log)
    if limit == 6 and chosen and sum(count for *_, count in chosen) < 6:
        assert len(log) == len(list(groupby(chosen, key=lambda piece: piece[:2])))


def test_columns_come_after_the_rows_before_them() -> None:
    log: list[tuple[str, RowBatch[Any]]] = []
    taken = Taken("a", log)
    gathered = GatheredRows(10)
    gathered.add(taken, RowBatch([{"x": 1}]))
    columns = RowBatch([{"x": 2}]).to_columns()
    assert isinstance(columns, ColumnBatch)
    gathered.add(taken, columns)
    gathered.add(taken, RowBatch([{"x": 3}]))
    gathered.hand_on()
    assert [batch.values for _, batch in log] == [[{"x": 1}], [{"x": 2}], [{"x": 3}]]


def test_joined_rows_are_immutable_if_all_pieces_are() -> None:
    log: list[tuple[str, RowBatch[Any]]] = []
    taken = Taken("a", log)
    gathered = GatheredRows(2)
    one, other = ImmutableRows([1]), RowBatch([[1]])
    for pieces in ((one, one), (one, other), (other, one)):
        for piece in pieces:
            gathered.add(taken, type(piece)(list(piece.values)))
    assert [type(batch) for _, batch in log] == [ImmutableRows, RowBatch, RowBatch]
