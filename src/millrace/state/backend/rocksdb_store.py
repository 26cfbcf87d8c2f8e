"""RocksDB (through rocksdict) as the key-value store of a backend."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.common.errors import StateError
from millrace.common.installation import missing_package
from millrace.state.backend.key_value_store import KeyValueStore, StoredRow, WriteBatch
from millrace.state.backend.rocksdb_load import COMPACTIONS_ARE_OFF, RocksDBLoad

SLOWED_AT, STOPPED_AT = 64, 128
"""Numbers of files without compaction at which RocksDB slows down or stops writes. A bulk load
leaves some tens of files."""


@dataclass(frozen=True, slots=True)
class RocksDBOptions:
    """Options of a RocksDB database: its memory, threads and use of the disk."""

    block_cache: int = 64 << 20
    """Bytes of blocks from the database's files that are kept in memory."""
    write_buffer: int = 32 << 20
    """Bytes that are gathered in memory before a file is written."""
    write_buffers: int = 2
    bloom_bits: int = 10
    """Bits per key of the filters that tell which files cannot have a key; 0 for no filters."""
    compression: bool = True
    background_jobs: int = 2
    block_size: int = 4 << 10


def import_rocksdict() -> Any:
    """The module ``rocksdict``.

    Raises:
        StateError: the module is not installed.
    """
    try:
        import rocksdict
    except ImportError as error:
        raise StateError(
            missing_package(
                "the state backend 'rocksdb' needs", "rocksdict", "rocksdb", on_workers=True
            )
        ) from error
    return rocksdict


class RocksDBStore(KeyValueStore):
    """RocksDB database in a directory that no other process uses.

    There is no write-ahead log: after a process is killed, the last few writes are missing.

    Raises:
        StateError: rocksdict is missing, or the database is damaged or in use.
    """

    def __init__(self, directory: str | os.PathLike[str], options: RocksDBOptions) -> None:
        rocks = self._rocks = import_rocksdict()
        self._directory = Path(directory)
        self._options = _native(rocks, options)
        self._load: RocksDBLoad | None = None
        self._paused = False
        """Whether compactions are off because of a load that has ended."""
        self._load_bytes = 2 * options.write_buffer
        try:
            self._db = rocks.Rdict(str(directory), self._options)
        except Exception as error:  # rocksdict raises nothing more special
            raise StateError(f"cannot open the database {directory}: {error}") from error
        unlogged = rocks.WriteOptions()
        unlogged.disable_wal = True
        self._db.set_write_options(unlogged)

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        self._settle()
        rows: Sequence[bytes | None] = self._db.get(list(keys)) if keys else []
        return rows

    def get(self, key: bytes) -> bytes | None:
        self._settle()
        row: bytes | None = self._db.get(key)
        return row

    def write(self, changes: WriteBatch) -> None:
        if self._load is not None and not changes.ranges:
            self._load.add(changes)
        else:
            self.write_all((changes,))

    def write_all(self, parts: Iterable[WriteBatch]) -> None:
        self._settle()
        batch = self._rocks.WriteBatch(raw_mode=True)
        delete, put = batch.delete, batch.put
        for changes in parts:
            for start, end in changes.ranges:
                batch.delete_range(start, end)
            for key in changes.deletes:
                delete(key)
            for key, value in changes.puts:
                put(key, value)
        self._db.write(batch)

    def begin_load(self) -> None:
        if self._load is None:
            self._load = RocksDBLoad(
                self._rocks, self._db, self._directory, self._options, self._load_bytes
            )

    def end_load(self) -> None:
        if self._load is not None:
            self._load.settle()
            self._paused = self._paused or self._load.files > 0
            self._load = None

    def resume_compaction(self) -> None:
        if self._paused:
            self._db.set_options({COMPACTIONS_ARE_OFF: "false"})
            self._paused = False

    def _settle(self) -> None:
        if self._load is not None:
            self._load.settle()

    def scan(self, start: bytes, end: bytes) -> Iterator[StoredRow]:
        self._settle()
        bounded = self._rocks.ReadOptions()
        bounded.set_iterate_upper_bound(end)
        return _bounded(self._db.items(from_key=start, read_opt=bounded), bounded)

    def row_count(self) -> int | None:
        estimate = self._db.property_int_value("rocksdb.estimate-num-keys")
        return None if estimate is None else int(estimate)

    def persist(self) -> None:
        """Flush the rows in memory to the files."""
        self._settle()
        self._db.flush()

    def close(self) -> None:
        self._db.close()


def _bounded(rows: Iterable[StoredRow], bound: Any) -> Iterator[StoredRow]:
    """Yield the rows, and keep the read options ``bound`` alive until the last row: the native
    iterator uses a pointer to the upper bound in the options."""
    yield from rows


def _native(rocks: Any, options: RocksDBOptions) -> Any:
    native = rocks.Options(raw_mode=True)
    native.create_if_missing(True)
    native.set_write_buffer_size(options.write_buffer)
    native.set_max_write_buffer_number(options.write_buffers)
    native.set_level_zero_slowdown_writes_trigger(SLOWED_AT)
    native.set_level_zero_stop_writes_trigger(STOPPED_AT)
    native.set_max_background_jobs(options.background_jobs)
    native.set_keep_log_file_num(2)
    native.set_stats_dump_period_sec(0)
    native.set_level_compaction_dynamic_level_bytes(True)
    kinds = rocks.DBCompressionType
    native.set_compression_type(kinds.lz4() if options.compression else kinds.none())
    blocks = rocks.BlockBasedOptions()
    blocks.set_block_cache(rocks.Cache(options.block_cache))
    blocks.set_block_size(options.block_size)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    if options.bloom_bits:
        blocks.set_bloom_filter(options.bloom_bits, False)
    native.set_block_based_table_factory(blocks)
    return native
