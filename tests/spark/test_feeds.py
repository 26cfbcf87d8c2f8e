"""Feeds: what DataFrames they refuse."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql.types import LongType, StructType

from millrace.common.errors import JobDefinitionError
from millrace.spark.feeds import arrow_schema


def test_two_columns_of_one_name() -> None:
    """As dicts, records would have one of them."""
    schema = StructType().add("id", LongType()).add("n", LongType()).add("id", LongType())
    with pytest.raises(JobDefinitionError, match="two columns 'id'"):
        arrow_schema(SimpleNamespace(_jdf=None, schema=schema))
