"""Records that cannot be read are found, and no others are lost."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors.errors import ConnectorError
from millrace.connectors.record_decoding import decode_around, with_times


@given(st.lists(st.one_of(st.integers(0, 9).map(str), st.just("bad"))))
def test_the_others_are_decoded_in_their_order(raws: list[str]) -> None:
    given_up: list[tuple[str, str]] = []
    calls = 0

    def decode(some: Sequence[str]) -> list[int]:
        nonlocal calls
        calls += 1
        return [int(raw) for raw in some]

    found = list(
        decode_around(raws, decode, lambda raw, error: given_up.append((raw, type(error).__name__)))
    )
    bad = raws.count("bad")
    assert [n for _, numbers in found for n in numbers] == [int(r) for r in raws if r != "bad"]
    assert [raw for some, _ in found for raw in some] == [raw for raw in raws if raw != "bad"]
    assert given_up == [("bad", "ValueError")] * bad
    assert calls <= 1 + bad * 2 * len(raws).bit_length()


def test_one_that_is_not_passed_over_ends_it() -> None:
    def fail(raw: str, error: Exception) -> None:
        raise KeyError(raw) from error

    with pytest.raises(KeyError, match="bad"):
        list(decode_around(["1", "bad", "2"], lambda some: [*map(int, some)], fail))


def test_what_is_no_record_s_fault_is_raised_at_once() -> None:
    def no_answer(raws: Sequence[str]) -> None:
        raise ConnectorError(f"no answer for {len(raws)}")

    with pytest.raises(ConnectorError, match="no answer for 2"):
        list(decode_around(["1", "2"], no_answer, lambda raw, error: None))


def test_records_have_their_times() -> None:
    rows = with_times(RowBatch(["a", None, "b"]), [1, 2, 3]).to_rows()
    assert (rows.values, list(rows.timestamps or ())) == (["a", "b"], [1, 3])
    columns = with_times(ColumnBatch(pa.record_batch({"n": [5, 6]})), [1, 2])
    assert list(columns.to_rows().timestamps or ()) == [1, 2]
