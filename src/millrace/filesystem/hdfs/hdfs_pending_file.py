"""A file of HDFS under construction. It has a hidden name in the directory of its final name, and
is renamed at the end.

A writer that dies leaves it open, with Hadoop's lease on it. Nobody has to recover that: what is in
a checkpoint was closed before, and anything else is deleted, which namenodes allow at any time.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import Any

from millrace.filesystem.file_system import PendingFile, PendingUpload
from millrace.filesystem.hdfs.name_service import NameService
from millrace.filesystem.local_pending_file import TEMP_SUFFIX

__all__ = ["HdfsPendingFile"]

_BUFFER = 1 << 20


class HdfsPendingFile(PendingFile):
    """A file that is created only when its buffer is full, or at its end. So a small file is
    written by one stream, as one block.

    Args:
        root: prefix of paths in locations, for example ``hdfs://namenode:8020``.
    """

    def __init__(
        self,
        names: NameService,
        root: str,
        path: str,
        durable: bool,
        permission: int,
        make_parents: bool,
    ) -> None:
        super().__init__()
        directory, _, name = path.rpartition("/")
        self._names, self._root, self._path = names, root, path
        self._hidden = f"{directory}/.{name}.{uuid.uuid4().hex}{TEMP_SUFFIX}"
        self._durable = durable
        self._permission, self._make_parents = permission, make_parents
        self._buffer = bytearray()
        self._writer: Any = None
        self._written = 0
        self._closed = False
        self._kept = False

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._buffer += data
        if len(self._buffer) >= _BUFFER:
            self._spill()
        return size

    def tell(self) -> int:
        return self._written + len(self._buffer)

    def complete(self, exclusive: bool = False) -> int:
        self._finish()
        try:
            self._names.rename(self._hidden, self._path, overwrite=not exclusive)
        except FileNotFoundError:
            # the answer to a rename may have been lost, and the client has asked again
            info = self._names.info(self._path)
            if info is None or info.length != self._written:
                raise
            if exclusive:
                raise FileExistsError(17, "it exists already", self._root + self._path) from None
        self._kept = True
        return self._written

    def persist(self) -> PendingUpload:
        self._finish()
        self._kept = True
        return PendingUpload(self._root + self._path, self.token, self._written)

    @property
    def token(self) -> str:
        return self._root + self._hidden

    def discard(self) -> None:
        self._buffer.clear()
        if self._writer is not None and not self._kept:
            with contextlib.suppress(OSError):
                self._names.delete(self._hidden)
        self._writer = None

    def _spill(self) -> None:
        data, self._buffer = bytes(self._buffer), bytearray()
        self._writer = self._names.write(
            self._hidden, self._writer, data, self._permission, self._make_parents
        )
        self._written += len(data)

    def _finish(self) -> None:
        if not self._closed:
            self._spill()
            self._names.close(self._hidden, self._writer, self._durable and self._written > 0)
            self._closed = True
