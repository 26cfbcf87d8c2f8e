"""Files of a table that INSERT OVERWRITE removes, and their partitions. Flink docs: "FileSystem
SQL Connector"."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from millrace.connectors.bucket_assigner import PartitionBucketAssigner
from millrace.filesystem.registry import file_system_of, resolved
from millrace.planner.catalog_reader import ResolvedTable

__all__ = ["partitions_of_files", "replaced_files"]


def replaced_files(
    path: str, table: ResolvedTable, partition: tuple[tuple[str, str], ...]
) -> Callable[[], None]:
    """Action for the end of an INSERT OVERWRITE: deletes the old files of each partition that has
    got new files.

    A table without partitions is always replaced, and so is a partition whose columns are all
    given: without new files it becomes empty.
    """
    base = resolved(path)
    before = _files(base)

    def delete() -> None:
        directories = set(map(posixpath.dirname, _files(base) - before))
        if len(partition) == len(table.partition_keys):
            directories.add(_directory(base, table, dict(partition)))
        replaced = [each for each in before if posixpath.dirname(each) in directories]
        file_system_of(base).delete_all(replaced)

    return delete


def partitions_of_files(path: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The distinct values of partition columns in the paths of files."""
    base = resolved(path)
    found = set()
    for file in _files(base):
        parts = file[len(base) :].split("/")[:-1]
        values = dict(part.split("=", 1) for part in parts if "=" in part)
        if all(name in values for name in columns):
            found.add(tuple(unquote(values[name]) for name in columns))
    return sorted(found)


def _directory(base: str, table: ResolvedTable, partition: dict[str, str]) -> str:
    if not partition:
        return base
    assigner = PartitionBucketAssigner(table.partition_keys)
    return f"{base}/{assigner.directory(partition)}"


def _files(base: str) -> set[str]:
    found = (each.location for each in file_system_of(base).list(base, recursive=True))
    return {each for each in found if not _hidden(each[len(base) :])}


def _hidden(relative: str) -> bool:
    return any(part.startswith(".") for part in relative.split("/"))
