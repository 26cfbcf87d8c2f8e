"""Backend that keeps state on the workers' disks, in RocksDB."""

from __future__ import annotations

import copy
import logging
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.filesystem.location import qualified
from millrace.state.backend.key_value_store import KeyValueStore
from millrace.state.backend.keyed_state_backend import KeyedStateBackend
from millrace.state.backend.local_directory import (
    UNFINISHED,
    LocalDirectory,
    root_of,
    stale,
)
from millrace.state.backend.rocksdb_store import RocksDBOptions, RocksDBStore, import_rocksdict
from millrace.state.backend.spilling_backend import CACHE_BYTES, SpillingKeyedStateBackend
from millrace.state.backend.state_backend import StateBackend, SubtaskId

__all__ = ["EmbeddedRocksDBStateBackend", "PredefinedOptions"]

log = logging.getLogger(__name__)

DATABASE = "db"
KEPT, PASSING = "keep-", "pass-"
"""Prefixes of directory names: of directories that may be recovered, and of the others."""
KEPT_FOR = 86_400.0
"""Seconds for which a database is kept for a process that recovers it, since its last marker."""


class PredefinedOptions(Enum):
    """Sets of options for kinds of hardware (Flink docs, "State Backends", Predefined
    per-ColumnFamily Options)."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    """Fewer, bigger reads."""
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    """The same with more memory."""
    FLASH_SSD_OPTIMIZED = 3
    """More work at the same time."""


_PREDEFINED: dict[PredefinedOptions, dict[str, int]] = {
    PredefinedOptions.DEFAULT: {},
    PredefinedOptions.SPINNING_DISK_OPTIMIZED: {"block_size": 64 << 10, "background_jobs": 4},
    PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM: {
        "block_size": 128 << 10,
        "background_jobs": 4,
        "write_buffer": 64 << 20,
        "write_buffers": 4,
        "block_cache": 256 << 20,
    },
    PredefinedOptions.FLASH_SSD_OPTIMIZED: {"background_jobs": 4},
}


@dataclass
class _Settings:
    """Settings of a state backend, from the configuration or the user. The configuration never
    overwrites the user's settings.
    """

    native: RocksDBOptions = field(default_factory=RocksDBOptions)
    cache_bytes: int = CACHE_BYTES
    directories: tuple[str, ...] = ()
    predefined: PredefinedOptions | None = None
    recoverable: bool = False


class EmbeddedRocksDBStateBackend(StateBackend):
    """Keeps state in RocksDB on the workers' disks, for state that is larger than memory (Flink
    docs, "State Backends", The EmbeddedRocksDBStateBackend).

    The entries in use are held in memory, decoded, within ``millrace.state.rocksdb.cache-size`` per
    subtask; timers, broadcast state and operator lists always are. Each subtask has a directory of
    its own on its host, which is deleted when the subtask ends. It is a cache: what counts is in
    the checkpoints, which are incremental with every backend.

    Needs the package rocksdict (``pip install 'millrace[rocksdb]'``) on the driver and the workers.

    Args:
        enable_incremental_checkpointing: for compatibility; every checkpoint is incremental.

    Example:
        >>> backend = EmbeddedRocksDBStateBackend()
        >>> backend.set_db_storage_paths("/mnt/ssd1", "/mnt/ssd2")
        >>> backend.get_db_storage_paths()
        ['/mnt/ssd1', '/mnt/ssd2']
    """

    name = "rocksdb"
    has_files = True

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._settings = _Settings()

    # -- Flink's setters ---------------------------------------------------------------

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the directories for databases; the subtasks use them in turn. Each directory must be
        on a local disk.

        Each is a path or a ``file:`` URI. Without arguments, the directories are those of
        ``state.backend.rocksdb.localdir``, or else the host's directory for temporary files.

        Raises:
            UnsupportedFileSystemSchemeError: an argument is the URI of another file system.
        """
        self._settings.directories = tuple(map(qualified, paths))

    def get_db_storage_paths(self) -> list[str]:
        """The directories for databases."""
        return list(self._settings.directories)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """True: all checkpoints are incremental."""
        return True

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Choose options for a kind of hardware."""
        self._settings.predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """The chosen options."""
        return self._settings.predefined or PredefinedOptions.DEFAULT

    # -- for the engine ----------------------------------------------------------------

    def configured(self, configuration: Configuration) -> StateBackend:
        import_rocksdict()
        backend = copy.deepcopy(self)
        backend._settings = _settings_from(configuration, self._settings)
        return backend

    def create_keyed_state_backend(self, subtask: SubtaskId) -> KeyedStateBackend:
        settings = self._settings
        databases = _Databases(settings, subtask)
        return SpillingKeyedStateBackend(databases, settings.cache_bytes, settings.recoverable)


class _Databases:
    """RocksDB databases of one subtask on this host."""

    def __init__(self, settings: _Settings, subtask: SubtaskId) -> None:
        self._settings = settings
        self._subtask = subtask
        self._directory: LocalDirectory | None = None

    def create(self) -> RocksDBStore:
        """Create a database, and delete stale directories on the host. Directories that may be
        recovered stay for a while. Directories of this job stay at any age, because another
        subtask may be about to adopt them."""
        root = self._root()
        own = (self._job_label(),) if self._settings.recoverable else ()
        for label, age in ((PASSING, 0.0), (KEPT, KEPT_FOR), (UNFINISHED, KEPT_FOR)):
            for left in stale(root, label, age, own):
                left.remove()
        self._directory = LocalDirectory.create(root, self._label())
        return RocksDBStore(self._directory.path / DATABASE, self._settings.native)

    def left(self) -> Iterator[KeyValueStore]:
        """Databases that former processes of this subtask left."""
        for left in stale(self._root(), f"{self._label()}-"):
            try:
                store = RocksDBStore(left.path / DATABASE, self._settings.native)
            except Exception as error:  # whatever damage brings about
                log.warning("cannot continue with the database %s: %s", left.path, error)
                left.remove()
                continue
            self._directory = left
            yield store
            self._directory = None
            store.close()
            left.remove()

    def marked(self) -> None:
        """Record that the database holds a marker, so that another process can recover from it."""
        if self._directory is not None:
            self._directory.touch()

    def remove(self) -> None:
        """Delete the directory of the present database, and directories of this subtask that
        former processes left and no process has adopted."""
        if self._directory is not None:
            self._directory.remove()
            self._directory = None
            for left in stale(self._root(), f"{self._label()}-"):
                left.remove()

    def _label(self) -> str:
        stage = zlib.crc32(self._subtask.stage.encode())
        return f"{self._job_label()}{stage:08x}-{self._subtask.index}"

    def _job_label(self) -> str:
        """Prefix of all directory names of this job."""
        kind = KEPT if self._settings.recoverable else PASSING
        return f"{kind}{zlib.crc32(self._subtask.job_name.encode()):08x}-"

    def _root(self) -> Path:
        return root_of(self._settings.directories, self._subtask.index)


def _settings_from(configuration: Configuration, given: _Settings) -> _Settings:
    get = configuration.get
    named = get(options.ROCKSDB_PREDEFINED)
    predefined = given.predefined or PredefinedOptions[named]
    native = RocksDBOptions(
        block_cache=get(options.ROCKSDB_BLOCK_CACHE).get_bytes(),
        write_buffer=get(options.ROCKSDB_WRITE_BUFFER).get_bytes(),
        write_buffers=get(options.ROCKSDB_WRITE_BUFFERS),
        bloom_bits=get(options.ROCKSDB_BLOOM_BITS) if get(options.ROCKSDB_BLOOM) else 0,
        background_jobs=get(options.ROCKSDB_THREADS),
    )
    chosen: dict[str, Any] = dict(_PREDEFINED[predefined])
    localdir = get(options.ROCKSDB_LOCALDIR)
    paths = tuple(qualified(path.strip()) for path in localdir.split(",")) if localdir else ()
    return replace(
        given,
        native=replace(native, **chosen),
        cache_bytes=get(options.ROCKSDB_CACHE).get_bytes(),
        directories=given.directories or paths,
        predefined=predefined,
        recoverable=get(options.RECOVER_LOCALLY),
    )
