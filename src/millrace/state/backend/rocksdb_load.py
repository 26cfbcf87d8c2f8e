"""The bulk load of a RocksDB database: gathers rows, sorts them and hands them over as files.

A row that goes through a memtable is sorted there, one by one, and written to a file later. Sorting
tens of thousands at a time and writing the file at once takes half of that. These files overlap, so
the database has to compact them: not over and over while more come, nor in competition with the
first records after a restore, but when those have been processed.
"""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

from millrace.state.backend.key_value_store import Changes

LEAST_BYTES = 1 << 20
"""Less than that is not worth a file."""
_ROW_BYTES = 128
"""About how much memory a row takes besides its bytes."""
COMPACTIONS_ARE_OFF = "disable_auto_compactions"

_Gathered = tuple[bytes, bytes | None]
"""A row; None: it is to be deleted."""
_key: Any = itemgetter(0)


class RocksDBLoad:
    """Gathers what is written between the beginning and the end of a load.

    What it has gathered cannot be found in the database until `settle`. When the process dies
    meanwhile, the database may hold any part of what was written since the load began.

    Args:
        rocks: the module rocksdict.
        db: the open database, in ``directory``.
        options: the database's.
        most_bytes: when so many bytes have come together they are handed over.
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
        """How many were handed over; from the first on compactions are off."""

    def add(self, changes: Changes) -> None:
        """Take deletions, then rows; ranges are not for this."""
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
        """Hand over what has come together. What cannot be written now is written the next time:
        with it goes, for example, that a marker is gone."""
        rows, few = self._rows, self._bytes < LEAST_BYTES
        if rows and (few or self._deletes):
            rows = self._batched(dict(rows), few)
        if rows:
            rows.sort(key=_key)  # stable: of several with one key the last one counts
            self._ingest(rows)
        self._rows, self._bytes, self._deletes = [], 0, False

    def _batched(self, latest: dict[bytes, bytes | None], few: bool) -> list[_Gathered]:
        """Write what is not for a file; returns the rest."""
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
