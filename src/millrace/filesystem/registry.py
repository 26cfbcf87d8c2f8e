"""The registry of file systems, by URI scheme. Flink: ``FileSystem.get``."""

from __future__ import annotations

import os
from collections.abc import Callable

from millrace.common.errors import UnsupportedFileSystemSchemeError
from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.filesystem.location import LOCAL_SCHEME, StrPath, is_local, qualified, scheme_of

__all__ = ["exists", "file_system_of", "register_file_system", "resolved"]


def _s3() -> FileSystem:
    from millrace.filesystem.object_stores.file_system import ObjectStoreFileSystem
    from millrace.filesystem.object_stores.s3 import s3_clients

    return ObjectStoreFileSystem(s3_clients)


def _azure() -> FileSystem:
    from millrace.filesystem.object_stores.azure import azure_clients
    from millrace.filesystem.object_stores.file_system import ObjectStoreFileSystem

    return ObjectStoreFileSystem(azure_clients)


def _gcs() -> FileSystem:
    from millrace.filesystem.object_stores.file_system import ObjectStoreFileSystem
    from millrace.filesystem.object_stores.gcs import gcs_clients

    return ObjectStoreFileSystem(gcs_clients)


def _hdfs() -> FileSystem:
    from millrace.filesystem.hdfs.file_system import HdfsFileSystem

    return HdfsFileSystem()


_factories: dict[str, Callable[[], FileSystem]] = {
    LOCAL_SCHEME: LocalFileSystem,
    "s3": _s3,
    "s3a": _s3,
    "abfss": _azure,
    "gs": _gcs,
    "hdfs": _hdfs,
}
_made: dict[str, FileSystem] = {}


def register_file_system(scheme: str, factory: Callable[[], FileSystem]) -> None:
    """Register a factory of the file system for a scheme; it is called once per process."""
    _factories[scheme] = factory
    _made.pop(scheme, None)


def resolved(location: StrPath) -> str:
    """A location in the form that its file system takes; a local one becomes absolute
    (`qualified`).

    Raises:
        UnsupportedFileSystemSchemeError: no file system is known for its scheme.
    """
    file_system_of(location)
    return qualified(location) if is_local(location) else os.fspath(location).rstrip("/")


def exists(location: StrPath) -> bool:
    """Whether a file of that name exists."""
    return file_system_of(location).status(os.fspath(location)) is not None


def file_system_of(location: StrPath) -> FileSystem:
    """The file system of a location.

    Raises:
        UnsupportedFileSystemSchemeError: none is known for its scheme, or what it needs is not
            installed.

    >>> type(file_system_of("/data")).__name__
    'LocalFileSystem'
    """
    scheme = scheme_of(location)
    made = _made.get(scheme)
    if made is None:
        factory = _factories.get(scheme)
        if factory is None:
            raise UnsupportedFileSystemSchemeError(os.fspath(location), scheme)
        try:
            made = _made[scheme] = factory()
        except ModuleNotFoundError as error:
            missing = error.name or str(error)
            raise UnsupportedFileSystemSchemeError(
                os.fspath(location), scheme, missing=missing
            ) from None
    return made
