"""`change_rows`: deletes or replaces rows of a Delta table by key, in one version of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobExecutionError
from millrace.connectors.delta.table import DeltaOptions

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

__all__ = ["change_rows"]


_HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "CREATE CHECKPOINT")
"""Operations that change no row."""


def change_rows(
    options: DeltaOptions,
    keys: Sequence[str],
    rows: pyarrow.RecordBatch | None,
    deletes: bool,
    read: int | None = None,
) -> None:
    """Change the rows with the given keys; keys that the table does not have are not added.

    Args:
        rows: rows to delete, by their keys, or to replace the rows of their keys; None to delete
            every row.
        read: the version from which the rows were made, or an earlier one.

    Raises:
        ConfigurationError: there is no such table.
        JobExecutionError: rows were changed after that version.
    """
    if rows is None:
        options.open().delete()
        return
    if not rows.num_rows:
        return
    import pyarrow as pa

    same = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    table = options.open()
    if read is not None:
        _require_unchanged(table, read, options.location)
    merging = table.merge(pa.Table.from_batches([rows]), same, source_alias="s", target_alias="t")
    values = {f"`{name}`": f"s.`{name}`" for name in rows.schema.names}
    changed = merging.when_matched_delete() if deletes else merging.when_matched_update(values)
    changed.execute()


def _require_unchanged(table: DeltaTable, read: int, location: str) -> None:
    """Fail if other writers changed existing rows since the read. Added rows are allowed."""
    since = table.version() - read
    for commit in table.history(since) if since > 0 else ():
        if not _only_adds(commit):
            raise JobExecutionError(
                f"another program has changed the Delta table {location} "
                f"({commit.get('operation')}) after this statement had looked for its rows; "
                "nothing was changed, so run the statement again"
            )


def _only_adds(commit: dict[str, Any]) -> bool:
    what = commit.get("operation")
    if what == "WRITE":
        return bool(commit.get("operationParameters", {}).get("mode") == "Append")
    if what == "MERGE":
        metrics = commit.get("operationMetrics", {})
        # as deltalake and as Spark call them, which writes them as texts
        plain = {name.replace("_", "").lower(): int(value) for name, value in metrics.items()}
        return all(plain.get(f"numtargetrows{change}") == 0 for change in ("updated", "deleted"))
    return what in _HARMLESS
