"""Type hints as types of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Instant
from millrace.common.types.logical.hinted_type import hinted_type, hints_of
from millrace.table import DataTypes


@dataclass
class Part:
    name: str
    amounts: list[int]


class Order(NamedTuple):
    number: int
    part: Part | None


class Named(TypedDict):
    word: str


@dataclass
class Endless:
    inner: Endless | None


@dataclass
class Wrong:
    value: complex


Number = NewType("Number", int)


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (int, "BIGINT"),
        (bool, "BOOLEAN"),
        (float, "DOUBLE"),
        (str, "STRING"),
        (bytes, "BYTES"),
        (Decimal, "DECIMAL(38, 18)"),
        (date, "DATE"),
        (time, "TIME(6)"),
        (datetime, "TIMESTAMP(6)"),
        (Instant, "TIMESTAMP_LTZ(6)"),
        (timedelta, "INTERVAL DAY(6) TO SECOND(6)"),
        (Optional[int], "BIGINT"),  # noqa: UP045 - that it is written so is what is tested
        (int | None, "BIGINT"),
        (Literal["a", "b"], "STRING"),
        (Number, "BIGINT"),
        (list[str], "ARRAY<STRING>"),
        (Sequence[list[int]], "ARRAY<ARRAY<BIGINT>>"),
        (tuple[float, ...], "ARRAY<DOUBLE>"),
        (dict[str, Decimal], "MAP<STRING, DECIMAL(38, 18)>"),
        (Mapping[str, int], "MAP<STRING, BIGINT>"),
        (tuple[int, str], "ROW<f0 BIGINT, f1 STRING>"),
        (Order, "ROW<number BIGINT, part ROW<name STRING, amounts ARRAY<BIGINT>>>"),
        (Named, "ROW<word STRING>"),
        (Annotated[int, "SMALLINT"], "SMALLINT"),
        (Annotated[datetime, DataTypes.TIMESTAMP_LTZ(3)], "TIMESTAMP_LTZ(3)"),
        (Annotated[pd.Series, int], "BIGINT"),
        (Annotated[pa.Array, pa.float32()], "FLOAT"),
        (pa.Int64Array, "BIGINT"),
        (np.int32, "INT"),
    ],
    ids=str,
)
def test_a_hint_says_a_type(hint: Any, kind: str) -> None:
    assert hinted_type(hint) == DataTypes.of(kind)


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (int | str, "more than one type"),
        (list, "has no column type"),
        (Endless, "contains itself"),
        (Wrong, r"field Wrong\.value: the type hint complex has no column type"),
        (pd.Series, r"lacks the type of its elements: write Annotated\[Series, int\]"),
        (pa.Array, r"write Annotated\[Array, int\]"),
        (Annotated[int, "BIGNIT"], "BIGNIT"),
    ],
    ids=str,
)
def test_a_hint_without_a_type_is_refused(hint: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        hinted_type(hint)


def test_hints_that_name_what_is_not_there_are_refused() -> None:
    def function(value: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821
        return 1

    with pytest.raises(JobDefinitionError, match="Nowhere.*top level of its module"):
        hints_of(function)
