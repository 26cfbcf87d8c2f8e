"""A bucket of an object store: whole objects by key, through obstore."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.filesystem.file_system import FileStatus, Version
from millrace.filesystem.object_stores.refusals import Refused, refusals

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from millrace.filesystem.object_stores.uploads import Uploads

__all__ = ["Block", "Bucket", "ObjectClients"]

_TRIES = 6
_FIRST_PAUSE = 0.1
"""Seconds of the first pause; each further pause is twice as long."""
_TRANSIENT = (408, 409, 429)
"""HTTP statuses after which a request is repeated: timeout, conflict with another write, too many
requests."""
_UNSATISFIABLE_RANGE = 416
_SEPARATOR = "|"


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of an object, with further information from the store's answer."""

    data: Any
    """Bytes in any object with the buffer protocol."""
    size: int
    """Size of the whole object in bytes."""
    version: Version


@dataclass(frozen=True, slots=True)
class ObjectClients:
    """The clients of a bucket."""

    store: ObjectStore
    """Client that repeats failed requests."""
    once: ObjectStore
    """Client that repeats nothing, for conditional writes: a repeated one would find the object of
    its own first attempt."""
    uploads: Uploads


class Bucket:
    """A bucket; thread-safe. Keys have no slash at either end.

    Args:
        root: prefix of keys in locations, for example ``s3://bucket/``.
        sleep: waits that many seconds between two attempts of a conditional write.
    """

    def __init__(
        self, root: str, clients: ObjectClients, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        import obstore

        self._obstore: Any = obstore
        self._root = root
        self._store = clients.store
        self._once = clients.once
        self.uploads = clients.uploads
        self._sleep = sleep

    # -- reading -------------------------------------------------------------------------------

    def block(self, key: str, start: int, end: int, of: Version | None = None) -> Block:
        """The bytes from ``start`` to ``end``; fewer at the end of the object.

        Args:
            of: a version that the object must still have.

        Raises:
            FileNotFoundError: there is no such object.
            FileExistsError: the object has been replaced.
        """
        options: dict[str, Any] = {"range": (start, end)}
        if of is not None:
            options["if_match"] = of.partition(_SEPARATOR)[0]
        try:
            with self._refusals(key):
                answer = self._obstore.get(self._store, key, options=options)
                return Block(answer.bytes(), answer.meta["size"], _version(answer.meta))
        except Refused as error:
            if error.status != _UNSATISFIABLE_RANGE:
                raise
        with self._refusals(key):  # it has no byte at ``start``
            meta = self._obstore.head(self._store, key)
        return Block(b"", meta["size"], _version(meta))

    def whole(self, key: str) -> tuple[bytes, Version]:
        """All bytes of an object. Raises FileNotFoundError if there is none."""
        with self._refusals(key):
            answer = self._obstore.get(self._store, key)
            return bytes(answer.bytes()), _version(answer.meta)

    def status(self, key: str) -> FileStatus | None:
        """An object's size and time; None if there is no such object."""
        try:
            with self._refusals(key):
                return self._status(self._obstore.head(self._store, key))
        except FileNotFoundError:
            return None

    def below(self, prefix: str) -> Iterator[FileStatus]:
        """All objects below a prefix of whole names: ``a/b`` does not match ``a/bc``."""
        with self._refusals(prefix):
            for metas in self._obstore.list(self._store, prefix or None, chunk_size=1000):
                yield from map(self._status, metas)

    def level(self, prefix: str) -> tuple[list[FileStatus], list[str]]:
        """The objects directly below a prefix, and the names of its sub-prefixes."""
        with self._refusals(prefix):
            listing = self._obstore.list_with_delimiter(self._store, prefix or None)
        names = [path.rstrip("/").rpartition("/")[2] for path in listing["common_prefixes"]]
        return [self._status(meta) for meta in listing["objects"]], names

    def is_empty(self, prefix: str) -> bool:
        """Whether there is no object below a prefix."""
        return next(self.below(prefix), None) is None

    # -- writing -------------------------------------------------------------------------------

    def put(self, key: str, data: Any) -> None:
        """Create or replace an object."""
        with self._refusals(key):
            self._obstore.put(self._store, key, data, use_multipart=False)

    def put_if(self, key: str, data: bytes, version: Version | None) -> Version | None:
        """Write an object if the current object has the given version or, for None, if there is no
        object.

        Returns:
            The new version; None if ``version`` is not the current one.
        """
        mode = "create" if version is None else _condition(version)
        unsure = False
        for attempt in range(_TRIES):
            try:
                with self._refusals(key):
                    made = self._obstore.put(self._once, key, data, mode=mode, use_multipart=False)
                    return _version(made)
            except (FileExistsError, FileNotFoundError) as error:
                if isinstance(error, FileNotFoundError) and version is None:
                    raise  # there is no such bucket
                return self._own(key, data) if unsure else None
            except Refused as error:
                last = attempt + 1 == _TRIES
                if last or (0 < error.status < 500 and error.status not in _TRANSIENT):
                    raise
                unsure = True  # the answer may have been lost, not the request
                self._sleep(_FIRST_PAUSE * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _own(self, key: str, data: bytes) -> Version | None:
        """The version of an object that an earlier attempt has written."""
        with contextlib.suppress(FileNotFoundError):
            content, version = self.whole(key)
            return version if content == data else None
        return None

    def copy_new(self, source: str, key: str) -> None:
        """Copy an object within the store. Raises FileExistsError if the key is taken."""
        with self._refusals(key):
            self._obstore.copy(self._store, source, key, overwrite=False)

    def writer(self, key: str) -> Any:
        """A file-like object for writing an object, which becomes visible when the writer is
        closed.
        """
        return self._obstore.open_writer(self._store, key)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects with few requests; missing objects are skipped."""
        try:
            with self._refusals(keys[0] if keys else ""):
                self._obstore.delete(self._store, list(keys))
        except FileNotFoundError:  # some stores mind
            for key in keys if len(keys) > 1 else ():
                self.delete([key])

    # -- small ---------------------------------------------------------------------------------

    def location(self, key: str) -> str:
        """Location of an object, with the bucket."""
        return self._root + key

    def _status(self, meta: Any) -> FileStatus:
        modified: datetime.datetime = meta["last_modified"]
        return FileStatus(self._root + meta["path"], meta["size"], modified.timestamp())

    def _refusals(self, key: str) -> contextlib.AbstractContextManager[None]:
        return refusals(self._root + key)


def _version(meta: Any) -> Version:
    """Version of an object: an entity tag, a number of the store's own, or both."""
    return f"{meta['e_tag'] or ''}{_SEPARATOR}{meta['version'] or ''}"


def _condition(version: Version) -> dict[str, str]:
    tag, _, number = version.partition(_SEPARATOR)
    return {name: part for name, part in (("e_tag", tag), ("version", number)) if part}
