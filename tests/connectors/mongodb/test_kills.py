"""Drivers are killed; each key's last sum is there once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ferretdb import FerretDB
from killed_job import executors

from ..upsert_driver import UpsertDriver
from ..upsert_job import sums_of

pytestmark = pytest.mark.connectors


@executors
def test_the_driver_is_killed(
    executor: str, ferretdb: FerretDB, collection: Any, tmp_path: Path
) -> None:
    place = f"{ferretdb.uri} tests {collection.name}"
    UpsertDriver("mongodb", place, tmp_path, 2_000, executor).run_through_kills()
    assert {one["key"]: one["total"] for one in collection.find()} == sums_of(2_000)


@executors
def test_nothing_of_a_lost_epoch_stays_with_a_log(
    executor: str, ferretdb: FerretDB, collection: Any, tmp_path: Path
) -> None:
    """FerretDB looks at all documents for each upsert, so there are no more than the kills need."""
    place = f"{ferretdb.uri} tests {collection.name}"
    count = {"epochs": 700, "resident": 2_000}[executor]
    UpsertDriver("mongodb", place, tmp_path, count, executor, logged=True).run_through_kills()
    assert sorted(one["total"] for one in collection.find()) == list(range(count))
