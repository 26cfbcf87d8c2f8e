"""No aggregate function breaks on hostile values: a value of its type for each group, or one clear
error; rows that are taken back leave nothing behind that breaks."""

from __future__ import annotations

import os
from random import Random, randrange

import numpy as np
import pyarrow as pa
import pytest
from tests.expressions.hostile_values import OPTIONS, TYPES, limited, value

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.evaluation_error import ValueCountError
from millrace.expressions.function_definition import FunctionKind
from millrace.expressions.registry import function, functions, resolve_aggregate

GROUPS = 3
AGGREGATES = [
    each.name
    for each in functions()
    if each.kind is FunctionKind.AGGREGATE
    and each.name
    not in ("RANK", "DENSE_RANK", "ROW_NUMBER", "CUME_DIST", "PERCENT_RANK", "NTILE", "LAG", "LEAD")
]
"""Those of groups; the others have OVER operators of their own."""


def drawn(name: str, random: Random) -> tuple[tuple[LogicalType, ...], LogicalType]:
    """Types that the function takes, and the type of its value for them."""
    for _ in range(5_000):
        signature = random.choice(function(name).signatures)
        alike = random.choice(TYPES)
        types = tuple(
            alike if random.random() < 0.6 else random.choice(TYPES)
            for each in signature
            if each[-1] != "?" or random.random() < 0.5
        )
        try:
            return types, resolve_aggregate(registry.function(name), types)
        except JobDefinitionError:
            continue
    raise AssertionError(f"{name} takes nothing of what is drawn")


def keep_the_law(name: str, random: Random) -> None:
    types, result = drawn(name, random)
    count = random.choice((0, 1, 7, 30))
    arguments = [
        pa.array([value(kind, random) for _ in range(count)], arrow_type(kind)) for kind in types
    ]
    slots = np.array([random.randrange(GROUPS) for _ in range(count)], np.int64)
    shown = f"{name} of {[str(kind) for kind in types]}, {count} rows, {str(arguments)[:300]}"
    try:
        with limited():
            state = accumulator(
                registry.function(name), types, result, random.choice(OPTIONS.get(name, (None,)))
            )
            columns = tuple(
                np.full(GROUPS, None, object) if each.kind == "O" else np.zeros(GROUPS, each)
                for each in state.columns()
            )
            if not state.takes_nulls:
                mask = np.ones(count, np.bool_)
                for each in arguments:
                    mask &= each.is_valid().to_numpy(zero_copy_only=False)
                slots, arguments = slots[mask], [each.filter(pa.array(mask)) for each in arguments]
            if len(slots):
                state.accumulate(slots, columns, arguments)
            made = state.value(np.arange(GROUPS), columns)
            if state.retracts and len(slots):
                state.accumulate(slots, columns, arguments, np.full(len(slots), -1, np.int8))
                assert len(state.value(np.arange(GROUPS), columns)) == GROUPS
    except (JobExecutionError, JobDefinitionError) as error:
        if isinstance(error, ValueCountError) or not str(error):
            raise AssertionError(shown) from error
        return
    except Exception as error:
        raise AssertionError(f"{shown} raises {type(error).__name__}: {error}") from error
    assert len(made) == GROUPS, shown
    assert made.type == arrow_type(result), shown
    made.validate(full=True)


@pytest.mark.parametrize("name", AGGREGATES)
def test_an_aggregate_takes_hostile_values(name: str) -> None:
    random = Random(1)
    for _ in range(12):
        keep_the_law(name, random)


@pytest.mark.torture
@pytest.mark.parametrize("name", AGGREGATES)
def test_an_aggregate_takes_ten_thousand_hostile_values(name: str) -> None:
    seed = int(os.environ.get("MILLRACE_SEED", randrange(10**6)))
    random = Random(seed)
    for number in range(10_000):
        try:
            keep_the_law(name, random)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, draw {number}: {error}") from error
