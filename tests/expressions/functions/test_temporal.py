"""Temporal functions over columns, and in the session's zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import LocalZonedTimestampType, RowType
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.date_patterns import format_time
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.expressions.session_settings import SessionSettings

BERLIN = SessionSettings(time_zone="Europe/Berlin")
KIND = LocalZonedTimestampType(3)
INSTANT = FieldReference(0, KIND, "at")


def in_berlin(expression: ResolvedExpression) -> object:
    batch = pa.record_batch({"at": pa.array([1_593_612_000_000], pa.timestamp("ms", "UTC"))})
    return compiled(expression, RowType.of(("at", KIND)), BERLIN)(batch)[0].as_py()


def test_fields_of_points_in_time_are_those_of_the_sessions_clocks() -> None:
    assert in_berlin(resolve_call("EXTRACT", (INSTANT,), "HOUR")) == 16
    day = in_berlin(resolve_call("FLOOR", (INSTANT,), "DAY"))
    assert day == datetime.fromisoformat("2020-06-30T22:00:00+00:00")


def test_a_batch_has_one_instant(read: Callable[[str], ResolvedExpression]) -> None:
    now = compiled(read("NOW()"), RowType.of(), BERLIN)
    batch = pa.record_batch({"v": [1, 2]})
    assert now(batch, 1000).cast(pa.int64()).to_pylist() == [1000, 1000]
    assert now(batch, 2000).cast(pa.int64()).to_pylist() == [2000, 2000]
    local = compiled(read("LOCALTIMESTAMP"), RowType.of(), BERLIN)
    assert local(batch, 0)[0].as_py() == datetime(1970, 1, 1, 1)


def test_a_pattern_letter_that_is_not_known_is_named() -> None:
    with pytest.raises(EvaluationError, match="letter 'j'"):
        format_time(datetime(2020, 1, 1), "yyyy j")
