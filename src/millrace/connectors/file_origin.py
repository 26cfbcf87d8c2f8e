"""Origins of records from files, for programs that request them."""

from __future__ import annotations

from typing import Any, NamedTuple

from millrace.common.types.batch import RowBatch
from millrace.formats.file_format import FormatReader

__all__ = ["FileOrigin", "read_with_origins"]


class FileOrigin(NamedTuple):
    """File of a record and its position in the file, as in Spark's ``_metadata``.

    Attributes:
        path: path of the file.
        offset: position after the previous record: a byte of the (decompressed) file, or a row of
            the split of a Parquet file.
        size: size of the file in bytes when it was found.
        modified: time of the last write, in seconds since the Unix epoch.
    """

    path: str
    offset: int
    size: int
    modified: float


def read_with_origins(
    reader: FormatReader[Any], max_records: int, file: tuple[str, int, float]
) -> tuple[RowBatch[Any], int]:
    """Pairs of records and their origins, and the number of skipped malformed records.

    Only a reader that is asked for one record tells by its position where it was.
    """
    path, size, modified = file
    pairs: list[Any] = []
    skipped = 0
    while len(pairs) + skipped < max_records and not reader.finished():
        origin = FileOrigin(path, reader.position(), size, modified)
        batch = reader.read(1)
        skipped += reader.skipped
        pairs += [(record, origin) for record in batch.to_rows().values]
    return RowBatch(pairs), skipped
