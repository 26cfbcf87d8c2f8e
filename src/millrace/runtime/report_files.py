"""Files in the directory of reports, through which a job's driver and workers communicate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar

import msgspec

from millrace.common.typed_json import decode_json
from millrace.state.checkpoint.files import write_file

__all__ = ["read_report", "reports_with", "write_report"]

T = TypeVar("T")


def write_report(path: str, report: msgspec.Struct) -> None:
    """Write or replace a file. Its directory is made if it is missing.

    Raises:
        CheckpointError: the file cannot be written.
        OSError: the directory cannot be made.
    """
    with suppress(FileExistsError):
        os.mkdir(os.path.dirname(path), 0o700)
    write_file(path, (msgspec.json.encode(report),), durable=False)


def read_report(path: str, kind: type[T], most_bytes: int) -> T | None:
    """Content of a file. None if the file is missing, or does not contain a report of this kind."""
    try:
        with open(path, "rb") as file:
            return decode_json(file.read(most_bytes), kind)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def reports_with(directory: str, suffix: str, kind: type[T], most_bytes: int) -> Iterator[T]:
    """Contents of the files whose names end with a suffix, by name."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        if name.endswith(suffix):
            report = read_report(os.path.join(directory, name), kind, most_bytes)
            if report is not None:
                yield report
