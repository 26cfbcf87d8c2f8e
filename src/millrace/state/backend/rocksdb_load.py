"""Bulk load of a RocksDB database: gathers rows, sorts them and hands them over as files.

A memtable sorts rows one by one and writes them to a file later. To sort tens of thousands of rows
at a time and write the file at once takes half as long. These files overlap, so the database has to
compact them. It does so once, after the first records after the restore have been processed, and so
does not compete with them.
"""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

from millrace.state.backend.key_value_store import WriteBatch

LEAST_BYTES = 1 << 20
"""Minimum bytes for which a file is written."""
_ROW_BYTES = 128
"""Approximate bytes of memory that a row takes besides its own bytes."""
COMPACTIONS_ARE_OFF = "disable_auto_compactions"

_Gathered = tuple[bytes, bytes | None]
"""Row to be written; None as the value deletes the key."""
_key: Any = itemgetter(0)


class RocksDBLoad:
    """Gathers the rows that are written between the beginning and the end of a load.

    The database does not have the gathered rows before `settle`. If the process dies during a load,
    the database may hold any part of the rows written since the load began.

    Args:
        rocks: the module rocksdict.
        db: the open database, in ``directory``.
        options: options of the database.
        most_bytes: bytes of gathered rows at which they are handed over.
    """

    def __init__(self, rocks: Any, db: Any, directory: Path, options: Any, most_bytes: int) -> None:
        self._rocks = rocks
        self._db = db
        self._directory = directory
        self._options = options
        self._most_bytes = most_bytes
        self._rows: list[_Gathered] = []
        self._bytes = 0
        self._deletes = False
        self.files = 0
        """Number of files handed over. Compactions are off from the first file on."""

    def add(self, changes: WriteBatch) -> None:
        """Add deletions of keys, then rows. The load does not support deletions of ranges."""
        rows = self._rows
        before = len(rows)
        if changes.deletes:
            self._deletes = True
            rows.extend((key, None) for key in changes.deletes)
        rows += changes.puts
        size = sum([len(value) for _, value in changes.puts])
        self._bytes += size + _ROW_BYTES * (len(rows) - before)
        if self._bytes >= self._most_bytes:
            self.settle()

    def settle(self) -> None:
        """Write the gathered rows and deletions to the database. If this fails, they stay
        gathered, and the next call writes them again."""
        rows, few = self._rows, self._bytes < LEAST_BYTES
        if rows and (few or self._deletes):
            rows = self._batched(dict(rows), few)
        if rows:
            rows.sort(key=_key)  # stable: of several with one key the last one counts
            self._ingest(rows)
        self._rows, self._bytes, self._deletes = [], 0, False

    def _batched(self, latest: dict[bytes, bytes | None], few: bool) -> list[_Gathered]:
        """Write deletions, and rows that are too few for a file; returns the remaining rows."""
        batch = self._rocks.WriteBatch(raw_mode=True)
        for key, value in latest.items():
            if value is None:
                batch.delete(key)
            elif few:
                batch.put(key, value)
        self._db.write(batch)
        return [] if few else [row for row in latest.items() if row[1] is not None]

    def _ingest(self, rows: list[_Gathered]) -> None:
        if not self.files:
            # what was written before must not be lost by a crash that leaves the files
            self._db.flush()
            self._db.set_options({COMPACTIONS_ARE_OFF: "true"})
        self.files += 1
        file = self._directory / f"load-{self.files}.sst"
        file.unlink(missing_ok=True)  # left by a crash, it may be a file of the database as well
        writer = self._rocks.SstFileWriter(self._options)
        writer.open(str(file))
        rest = iter(rows)
        key, value = next(rest)
        for after, later in rest:
            if after != key:
                writer[key] = value
            key, value = after, later
        writer[key] = value
        writer.finish()
        moved = self._rocks.IngestExternalFileOptions()
        moved.set_move_files(True)
        self._db.ingest_external_file([str(file)], moved)
