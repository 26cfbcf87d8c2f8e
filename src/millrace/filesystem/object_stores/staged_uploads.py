"""Uploads for stores that can copy: a hidden object, which a commit copies to its name.

For stores whose multipart uploads obstore completes only in the process that began them.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millrace.filesystem.file_system import PendingUpload, UploadStatus, require_written
from millrace.filesystem.object_stores.refusals import refusals
from millrace.filesystem.object_stores.uploads import Upload, Uploads, token_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["StagedUploads"]

_SUFFIX = ".upload"
_MARK = "millrace_upload"
"""Metadata key with the id of the upload from which an object was made; copies keep it."""


class StagedUploads(Uploads):
    """The uploads of a bucket."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def begin(self, key: str) -> Upload:
        return _StagedUpload(self._store, key)

    def commit(self, upload: PendingUpload, key: str, id: str) -> None:
        import obstore

        hidden = _hidden(key, id)
        staged = self._length(hidden)
        if staged is None:
            require_written(upload, self._length(key))
            return
        require_written(upload, staged)
        with refusals(upload.location):
            try:
                obstore.copy(self._store, hidden, key, overwrite=False)
            except (obstore.exceptions.AlreadyExistsError, FileNotFoundError):
                if not self._is_made_of(key, id):
                    raise
            self._delete(hidden)

    def _is_made_of(self, key: str, id: str) -> bool:
        """Whether an object is this upload, committed earlier."""
        import obstore

        with contextlib.suppress(FileNotFoundError):
            answer = obstore.get(self._store, key, options={"head": True})
            return answer.attributes.get(_MARK) == id
        return False

    def _length(self, key: str) -> int | None:
        import obstore

        try:
            with refusals(key):
                return obstore.head(self._store, key)["size"]
        except FileNotFoundError:
            return None

    def pending(self, root: str, prefix: str) -> Iterator[UploadStatus]:
        import obstore

        with refusals(root + prefix):
            for some in obstore.list(self._store, prefix.rstrip("/") or None, chunk_size=1000):
                for meta in some:
                    if self.is_hidden(meta["path"]):
                        key, id = _named_for(meta["path"])
                        modified = meta["last_modified"].timestamp()
                        yield UploadStatus(root + key, token_of(root + key, id), modified)

    def abort(self, key: str, id: str) -> None:
        self._delete(_hidden(key, id))

    def is_hidden(self, key: str) -> bool:
        name = key.rpartition("/")[2]
        return name.startswith(".") and name.endswith(_SUFFIX)

    def _delete(self, key: str) -> None:
        import obstore

        with refusals(key), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, key)


class _StagedUpload(Upload):
    """An upload. A small one is a single put; a larger one is a multipart upload by a writer."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        import obstore

        self._obstore: Any = obstore
        self._store, self._key = store, key
        self._id = uuid.uuid4().hex
        self._hidden = _hidden(key, self._id)
        self._first = b""
        self._writer: Any = None

    @property
    def id(self) -> str:
        return self._id

    def add(self, data: Any) -> None:
        with refusals(self._key):
            if self._writer is None:
                if not self._first:
                    self._first = bytes(data)
                    return
                self._writer = self._obstore.open_writer(
                    self._store, self._hidden, attributes=self._attributes()
                )
                self._writer.write(self._first)
            if len(data):
                self._writer.write(data)

    def seal(self) -> None:
        with refusals(self._key):
            if self._writer is not None:
                self._writer.close()
            else:
                self._obstore.put(
                    self._store,
                    self._hidden,
                    self._first,
                    attributes=self._attributes(),
                    use_multipart=False,
                )

    def finish(self, exclusive: bool) -> None:
        self.seal()
        with refusals(self._key):
            self._obstore.copy(self._store, self._hidden, self._key, overwrite=not exclusive)
            self._obstore.delete(self._store, self._hidden)

    def abort(self) -> None:
        self._writer = None
        with refusals(self._key), contextlib.suppress(FileNotFoundError):
            self._obstore.delete(self._store, self._hidden)

    def _attributes(self) -> dict[str, str]:
        return {_MARK: self._id}


def _hidden(key: str, id: str) -> str:
    directory, slash, name = key.rpartition("/")
    return f"{directory}{slash}.{name}.{id}{_SUFFIX}"


def _named_for(hidden: str) -> tuple[str, str]:
    directory, slash, name = hidden.rpartition("/")
    final, _, id = name[1 : -len(_SUFFIX)].rpartition(".")
    return f"{directory}{slash}{final}", id
