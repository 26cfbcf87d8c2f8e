"""Bucket assigners."""

from datetime import UTC, datetime

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.batch import RowBatch
from millrace.connectors.bucket_assigner import (
    BucketAssigner,
    BucketContext,
    CallableBucketAssigner,
    require_bucket_id,
)
from millrace.connectors.errors import ConnectorError

NOON = int(datetime(2013, 1, 2, 12, 30, 45, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("arguments", "bucket"),
    [
        ((), "2013-01-02--12"),
        (("yyyy-MM-dd--HH", "America/New_York"), "2013-01-02--07"),
        (("%Y/%j",), "2013/002"),
        (("HHmmss",), "123045"),
    ],
)
def test_date_time_buckets(arguments: tuple[str, ...], bucket: str) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner(*arguments)
    assert assigner.group(RowBatch(["x", "y"]), NOON) == {bucket: RowBatch(["x", "y"])}


def test_unknown_pattern_letters_and_zones_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="not 'E'"):
        BucketAssigner.date_time_bucket_assigner("EEE")
    with pytest.raises(JobDefinitionError, match="not a known time zone"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Mars/Olympus")


def test_the_base_path_takes_the_batch_as_it_is() -> None:
    batch = RowBatch([1, 2])
    assert BucketAssigner.base_path_bucket_assigner().group(batch, 0)[""] is batch


def test_a_function_sees_value_and_times_and_keeps_the_order() -> None:
    def bucket(value: str, context: BucketContext) -> str:
        return f"{value[0]}-{context.timestamp()}-{context.current_processing_time()}"

    groups = CallableBucketAssigner(bucket).group(RowBatch(["a1", "b1", "a2"], [5, 6, 5]), 9)
    assert groups == {"a-5-9": RowBatch(["a1", "a2"]), "b-6-9": RowBatch(["b1"])}


@pytest.mark.parametrize("bucket", ["/abs", "../up", "a/../b", ".hidden", "a/_b", "a//b", "a/", 7])
def test_buckets_that_readers_would_not_find_are_refused(bucket: object) -> None:
    with pytest.raises(ConnectorError, match="cannot be a bucket"):
        require_bucket_id(bucket)


@pytest.mark.parametrize("bucket", ["", "a", "day=1/hour=2"])
def test_good_buckets(bucket: str) -> None:
    assert require_bucket_id(bucket) == bucket
