"""An object under construction: a put if it is small, an upload if it is large or becomes
visible later."""

from __future__ import annotations

import contextlib
import errno
from typing import Any

from millrace.filesystem.file_system import PendingFile, PendingUpload
from millrace.filesystem.object_stores.bucket import Bucket
from millrace.filesystem.object_stores.uploads import Upload, token_of

__all__ = ["PendingObject"]


class PendingObject(PendingFile):
    """An object under construction. It buffers bytes until they fill a part of an upload, or
    until the object is complete."""

    def __init__(self, bucket: Bucket, key: str) -> None:
        super().__init__()
        self._bucket, self._key = bucket, key
        self._buffer = bytearray()
        self._length = 0
        self._upload: Upload | None = None

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._buffer += data
        self._length += size
        if len(self._buffer) >= self._bucket.uploads.piece:
            self._begun().add(self._taken())
        return size

    def tell(self) -> int:
        return self._length

    def complete(self, exclusive: bool = False) -> int:
        if self._upload is not None:
            self._upload.add(self._taken())
            self._upload.finish(exclusive)
            self._upload = None
        elif not exclusive:
            self._bucket.put(self._key, self._taken())
        elif self._bucket.put_if(self._key, self._taken(), None) is None:
            location = self._bucket.location(self._key)
            raise FileExistsError(errno.EEXIST, "it exists already", location)
        return self._length

    def persist(self) -> PendingUpload:
        upload = self._begun()
        upload.add(self._taken())
        upload.seal()
        made = PendingUpload(self._bucket.location(self._key), self.token, self._length)
        self._upload = None
        return made

    @property
    def token(self) -> str:
        location = self._bucket.location(self._key)
        return token_of(location, self._upload.id) if self._upload is not None else ""

    def discard(self) -> None:
        self._buffer = bytearray()
        if self._upload is not None:
            with contextlib.suppress(OSError):
                self._upload.abort()
            self._upload = None

    def _begun(self) -> Upload:
        if self._upload is None:
            self._upload = self._bucket.uploads.begin(self._key)
        return self._upload

    def _taken(self) -> bytes:
        data = bytes(self._buffer)
        self._buffer = bytearray()
        return data
