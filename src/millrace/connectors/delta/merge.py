"""Upserts: merges the rows of a checkpoint into a Delta table by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.connectors.last_rows import DELETES, KIND, last_rows

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["merge_rows"]


def merge_rows(
    table: DeltaTable, keys: Sequence[str], files: Sequence[Any], properties: Any
) -> None:
    """Merge the rows of staged files, using the last row of each key, in one version of the
    table."""
    rows = last_rows(files, keys)
    names = [name for name in rows.schema.names if name != KIND]
    values = {f"`{name}`": f"s.`{name}`" for name in names}
    deleted = " OR ".join(f"s.`{KIND}` = {number}" for number in DELETES)
    same = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    merging = table.merge(
        rows, same, source_alias="s", target_alias="t", commit_properties=properties
    )
    merging = merging.when_matched_delete(deleted).when_matched_update(values)
    merging.when_not_matched_insert(values, f"NOT ({deleted})").execute()
