"""Random numbers are those of Java's generator, whatever the batches."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import IntType, RowType
from millrace.expressions import registry
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression

ROWS = RowType.of(("n", IntType()))
COLUMN = FieldReference(0, IntType(), "n")
JAVA = [0.7308781907032909, 0.41008081149220166, 0.20771484130971707, 0.3327170559595112]
"""``new Random(1)``, ``nextDouble()``."""


def batch_of(*numbers: int | None) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(numbers, pa.int32())})


def test_a_seed_draws_javas_numbers_from_batch_to_batch(
    read: Callable[[str], ResolvedExpression],
) -> None:
    drawn = compiled(read("RAND(1)"), ROWS)
    found = drawn(batch_of(1)).to_pylist() + drawn(batch_of(1, 2, 3)).to_pylist()
    assert found == JAVA


def test_a_seed_of_each_row_draws_its_first_number() -> None:
    drawn = compiled(resolve_call(registry.function("RAND"), (COLUMN,)), ROWS)
    assert drawn(batch_of(1, None, 1)).to_pylist() == [JAVA[0], None, JAVA[0]]


def test_integers_are_below_their_bounds(read: Callable[[str], ResolvedExpression]) -> None:
    drawn = compiled(resolve_call(registry.function("RAND_INTEGER"), (COLUMN,)), ROWS)
    made = drawn(batch_of(*[3] * 200, None)).to_pylist()
    assert made[-1] is None
    assert set(made[:-1]) == {0, 1, 2}
    seeded = compiled(resolve_call(registry.function("RAND_INTEGER"), (read("7"), COLUMN)), ROWS)
    assert all(each < 5 for each in seeded(batch_of(*[5] * 50)).to_pylist())


def test_a_bound_that_is_not_positive_is_told() -> None:
    drawn = compiled(resolve_call(registry.function("RAND_INTEGER"), (COLUMN,)), ROWS)
    with pytest.raises(EvaluationError, match="bound must be positive, not -2"):
        drawn(batch_of(3, -2))
