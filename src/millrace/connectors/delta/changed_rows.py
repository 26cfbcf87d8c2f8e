"""`change_rows`: deletes or replaces rows of a Delta table by key, in one version of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.connectors.delta.table import DeltaOptions

if TYPE_CHECKING:
    import pyarrow

__all__ = ["change_rows"]


def change_rows(
    options: DeltaOptions, keys: Sequence[str], rows: pyarrow.RecordBatch | None, deletes: bool
) -> None:
    """Change the rows with these keys; what the table does not have is not added.

    Args:
        rows: to be deleted, of which the keys are looked at, or to be written over those of their
            keys; None: delete every row.

    Raises:
        ConfigurationError: there is no such table.
    """
    if rows is None:
        options.open().delete()
        return
    if not rows.num_rows:
        return
    import pyarrow as pa

    same = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    merging = options.open().merge(
        pa.Table.from_batches([rows]), same, source_alias="s", target_alias="t"
    )
    values = {f"`{name}`": f"s.`{name}`" for name in rows.schema.names}
    changed = merging.when_matched_delete() if deletes else merging.when_matched_update(values)
    changed.execute()
