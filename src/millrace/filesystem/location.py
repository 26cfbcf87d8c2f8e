"""Locations: users' paths and URIs, converted to the one form that the engine uses."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from millrace.common.errors import UnsupportedFileSystemSchemeError

__all__ = ["StrPath", "is_local", "local_location", "located", "qualified", "scheme_of"]

StrPath = str | os.PathLike[str]

LOCAL_SCHEME = "file"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(.*)", re.DOTALL)
"""Pattern of URIs. One slash is enough, because `pathlib` turns ``s3://bucket`` into
``s3:/bucket``, and Hadoop writes ``file:/data``. A scheme has at least two characters, unlike drive
letters."""


def scheme_of(location: StrPath) -> str:
    """The scheme of a location in lower case; ``file`` for a plain path.

    >>> scheme_of("s3://bucket/key"), scheme_of("/data"), scheme_of("file:///data")
    ('s3', 'file', 'file')
    """
    match = _URI.fullmatch(os.fspath(location))
    return match[1].lower() if match else LOCAL_SCHEME


def is_local(location: StrPath) -> bool:
    """Whether the location is on this machine's disks and mounts."""
    return scheme_of(location) == LOCAL_SCHEME


def qualified(location: StrPath) -> str:
    """The absolute path of a location, for files that must be on local disks and mounts.

    Args:
        location: a path, absolute or relative to the working directory, or a URI.

    Raises:
        UnsupportedFileSystemSchemeError: the location is a URI of another scheme or another host.

    >>> qualified("file:///data/a%20b")
    '/data/a b'
    """
    text = os.fspath(location)
    match = _URI.fullmatch(text)
    if match is None:
        return os.path.abspath(text)
    if match[1].lower() != LOCAL_SCHEME:
        raise UnsupportedFileSystemSchemeError(text, match[1])
    return _path_of_file_uri(text, match[2])


def _path_of_file_uri(text: str, rest: str) -> str:
    """Path in ``file:/path``, ``file:///path`` and ``file://localhost/path``; ``rest`` follows
    ``file:/``.

    ``file://data`` is one more that `pathlib` may have made shorter; its host is refused."""
    if not rest.startswith("/"):
        return os.path.abspath("/" + unquote(rest))
    host, _, path = rest[1:].partition("/")
    if host.lower() not in ("", "localhost"):
        raise UnsupportedFileSystemSchemeError(text, LOCAL_SCHEME, host)
    return os.path.abspath("/" + unquote(path))


def located(directory: StrPath, path: str) -> str:
    """The location of a path relative to a directory; a path that is already a location stays
    unchanged.

    >>> located("s3://bucket/job", "shared/a"), located("s3://bucket/job", "s3://other/a")
    ('s3://bucket/job/shared/a', 's3://other/a')
    """
    return path if _URI.fullmatch(path) else os.path.join(directory, path)


def local_location(location: StrPath) -> Path:
    """Path of a location that must be on this machine's file systems; a plain path stays unchanged.

    Raises:
        UnsupportedFileSystemSchemeError: the location is the URI of another file system.
    """
    return Path(qualified(location) if _URI.fullmatch(os.fspath(location)) else location)
