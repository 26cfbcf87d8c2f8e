"""Row kinds in sinks that write by key, however an epoch is cut into batches."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.row import Row, RowKind
from millrace.connectors.row_changes import ReplacedRows

CHANGES = st.lists(st.tuples(st.sampled_from(RowKind), st.sampled_from("abc"), st.integers(0, 9)))


def key_of(row: Row) -> str:
    return str(row[0])


@given(changes=CHANGES, cuts=st.sets(st.integers(0, 20)))
def test_an_epoch_leaves_the_last_row_of_each_key(
    changes: list[tuple[RowKind, str, int]], cuts: set[int]
) -> None:
    replaced, table, deleted = ReplacedRows(), dict[str, int](), list[str]()

    def write(pairs: Any) -> None:
        for is_written, row in pairs:
            if is_written:
                table[row[0]] = row[1]
            else:
                deleted.append(row[0])
                table.pop(row[0], None)

    batches: list[list[Row]] = [[]]
    for place, change in enumerate(changes):
        if place in cuts:
            batches.append([])
        batches[-1].append(Row.of_kind(*change))
    for batch in batches:
        write(replaced.changes(batch, key_of))
    write((False, row) for row in replaced.take())
    last = {key: (kind, number) for kind, key, number in changes}
    kept = (RowKind.INSERT, RowKind.UPDATE_AFTER)
    assert table == {key: number for key, (kind, number) in last.items() if kind in kept}
    # an update that is whole deletes nothing
    gone = [key for kind, key, _ in changes if kind is RowKind.DELETE]
    gone += [key for key, (kind, _) in last.items() if kind is RowKind.UPDATE_BEFORE]
    assert sorted(deleted) == sorted(gone)
    assert replaced.take() == []


def test_records_without_a_kind_are_written() -> None:
    assert list(ReplacedRows().changes([1, {"a": 2}], id)) == [(True, 1), (True, {"a": 2})]
