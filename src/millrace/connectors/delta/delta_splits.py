"""Splits of a Delta table: data files, and versions with their changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from millrace.common.errors import ConfigurationError, JobExecutionError
from millrace.common.source import SourceSplit
from millrace.connectors.delta.table import DeltaOptions, require_plain_columns
from millrace.filesystem.registry import file_system_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["DeltaChangesSplit", "DeltaFileSplit", "appended_files", "files_of", "require_readable"]


@dataclass(frozen=True)
class DeltaFileSplit(SourceSplit):
    """A data file whose rows are all new."""

    path: str = ""
    """Path of the file below the table's directory."""
    partition: tuple[tuple[str, str | None], ...] = ()
    """The values of the columns that the file does not have."""


@dataclass(frozen=True)
class DeltaChangesSplit(SourceSplit):
    """A version of a table with a change data feed."""

    version: int = 0


def files_of(table: DeltaTable, version: int) -> list[DeltaFileSplit]:
    """Data files of the table in the version at which it was opened."""
    import pyarrow as pa

    actions = pa.table(table.get_add_actions()).to_pylist()
    return [
        _split(version, item["path"], {name: _text(value) for name, value in partition.items()})
        for item in actions
        for partition in [item.get("partition") or {}]
    ]


def appended_files(options: DeltaOptions, version: int) -> list[DeltaFileSplit]:
    """Data files that a version added to a table without a change data feed.

    Raises:
        JobExecutionError: it has also removed rows, or its log is gone.
    """
    location = f"{options.location}/_delta_log/{version:020}.json"
    try:
        text = file_system_of(location).read(location).decode()
    except FileNotFoundError:
        raise JobExecutionError(
            f"version {version} of table {options.location} is no longer in its log: the "
            "job was down for longer than delta.logRetentionDuration; start it afresh, from "
            "the whole table"
        ) from None
    splits = []
    for line in text.splitlines():
        action = json.loads(line) if line.strip() else {}
        if action.get("remove", {}).get("dataChange"):
            raise JobExecutionError(
                f"version {version} of table {options.location} deletes or updates rows, "
                "and the log does not say which: set delta.enableChangeDataFeed on the "
                "table to follow changes"
            )
        added = action.get("add")
        if added is not None and added.get("dataChange", True):
            splits.append(_split(version, added["path"], added.get("partitionValues") or {}))
    return splits


def require_readable(table: DeltaTable, location: str) -> None:
    """Refuse tables whose current rows cannot be read from the data files alone.

    Raises:
        ConfigurationError: it uses deletion vectors or column mapping.
    """
    require_plain_columns(table, location)
    if "deletionVectors" in (table.protocol().reader_features or ()):
        raise ConfigurationError(
            f"table {location} uses deletionVectors, which DeltaSource cannot read; "
            "env.from_spark(spark.readStream.format('delta')...) can"
        )


def _split(version: int, path: str, partition: dict[str, str | None]) -> DeltaFileSplit:
    name = unquote(path)
    # the protocol of Delta has an empty text for null
    values = tuple((column, value or None) for column, value in partition.items())
    return DeltaFileSplit(f"{version}:{name}", name, values)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
