from __future__ import annotations

import pytest

from millrace.common import Row
from millrace.common.types.batch import RowBatch
from millrace.runtime.detached import are_immutable, detached, detached_batch


@pytest.mark.parametrize(
    "values",
    [[], [1, "a", None], [(1, "a"), (2, None)], [(1, (2, "x"))], [frozenset({1})], [1, (1,)]],
)
def test_immutable_batches_are_not_copied(values) -> None:
    assert are_immutable(values)
    batch = RowBatch(values)
    assert detached_batch(batch) is batch


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1, [2]), Row(1), bytearray(b"a"), {1}])
def test_mutable_values_are_copied(value) -> None:
    assert not are_immutable([1, value])
    copy = detached(value)
    assert copy == value
    assert copy is not value
    assert detached_batch(RowBatch([value])).values[0] is not value
