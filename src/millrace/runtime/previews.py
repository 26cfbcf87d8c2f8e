"""Previews: a few records of an operator's output, for people who watch a job.

They are off unless the job's options turn them on: then each operator's main output has a
`PreviewTap`, which looks once per batch whether somebody watches. Watchers keep a request in
the job's directory fresh; the watchdog's thread of each worker reads it every second, and writes
the newest records to a file. A worker takes `MOST_RECORDS` per second at most.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import Any

import msgspec

from millrace.common.errors import CheckpointError
from millrace.common.printable_text import printable
from millrace.common.types.batch import Batch
from millrace.common.types.short_values import ShortRepr
from millrace.runtime.output import Output
from millrace.runtime.report_files import read_report, reports_with, write_report
from millrace.state.checkpoint.files import delete_quietly

__all__ = [
    "MOST_OPERATORS",
    "REQUEST",
    "SUFFIX",
    "Preview",
    "PreviewRequest",
    "PreviewTap",
    "PreviewedRecord",
    "Previews",
    "WorkerPreview",
    "preview_request",
    "previews",
    "records_in",
    "request_preview",
]

REQUEST = "preview.request"
"""Name of the request's file, in the directory of reports."""
SUFFIX = ".preview"
MOST_RECORDS = 20
"""Maximum number of records that a worker takes in a second."""
KEPT = 100
"""Number of the newest records that a worker keeps."""
LONGEST = 1_000
"""Maximum number of characters of a record."""
MOST_OPERATORS = 8
"""Maximum number of operators of a job that people watch at once."""
_MOST_BYTES = 8 << 20
_LONGEST_S = 0.02
"""Seconds after which a worker takes no more records in this second: their ``repr`` is slow."""
_MOST_PARTS = 200
"""Maximum number of values within a record whose ``repr`` is taken."""
_MOST_OF_EACH = 40
"""Maximum number of items of a collection that are shown."""


class PreviewRequest(msgspec.Struct, frozen=True):
    """Request to watch the outputs of operators."""

    run_id: str
    until: dict[str, float]
    """Per uid of an operator, the time at which nobody watches it any more, in seconds since the
    Unix epoch."""


class PreviewedRecord(msgspec.Struct, frozen=True):
    """A record that an operator has emitted."""

    time: float
    """Seconds since the Unix epoch."""
    subtask: int
    text: str
    """``repr`` of the record, shortened."""


class WorkerPreview(msgspec.Struct, frozen=True):
    """Newest records of a worker; the content of its file."""

    records: dict[str, tuple[PreviewedRecord, ...]]
    """Records by the uids of the operators."""


class Preview:
    """Newest records of one operator in this process. Operators add records in their threads, and
    the watchdog's thread takes them."""

    def __init__(self) -> None:
        self.is_new = False
        """Whether records have been added since they were last taken."""
        self._records: deque[PreviewedRecord] = deque(maxlen=KEPT)
        self._left = MOST_RECORDS
        self._lock = Lock()

    def add(self, batch: Batch, subtask: int) -> None:
        """Keep the first records of a batch, up to the limit for the present second. Never raises,
        because a preview must not make a job fail.
        """
        if self._left <= 0:
            return
        with self._lock:
            now, end = time.time(), time.monotonic() + _LONGEST_S
            try:
                for value in batch.slice(0, self._left).to_rows().values:
                    self._note(PreviewedRecord(now, subtask, _text(value)))
                    if time.monotonic() > end:
                        self._left = 0
                        return
            except Exception as error:  # nothing of this batch can be shown
                text = f"<{type(batch).__name__}, which cannot be shown: {type(error).__name__}>"
                self._note(PreviewedRecord(now, subtask, text))

    def _note(self, record: PreviewedRecord) -> None:
        self._records.append(record)
        self._left -= 1
        self.is_new = True

    def taken(self) -> tuple[PreviewedRecord, ...]:
        """The newest records of the operator. After this call, the operator may add records for the
        next second.
        """
        with self._lock:
            self._left, self.is_new = MOST_RECORDS, False
            return tuple(self._records)


class Previews:
    """The operators of this process that somebody watches, by run and uid."""

    def __init__(self) -> None:
        self.watched: dict[tuple[str, str], Preview] = {}
        """Empty as long as nobody watches."""
        self._by_place: dict[str, dict[tuple[str, str], Preview]] = {}
        """Per directory of reports, the operators of its job."""

    def look(self, reports: str, file_name: str) -> None:
        """Find out which operators people watch, and write the records of these operators.

        Args:
            reports: the directory of reports in the job's directory.
            file_name: name of this worker's files.
        """
        before = self._by_place.get(reports, {})
        wanted = _watched_now(preview_request(reports))
        if not wanted:
            self.forget(reports, file_name)
            return
        now = {key: before.get(key) or Preview() for key in wanted}
        self._replace(reports, now)
        if now.keys() != before.keys() or any(preview.is_new for preview in now.values()):
            records = {operator: preview.taken() for (_, operator), preview in now.items()}
            with suppress(CheckpointError, OSError):
                write_report(_path(reports, file_name), WorkerPreview(records))

    def forget(self, reports: str, file_name: str) -> None:
        """Stop keeping records of a job, and delete the records that this worker has written."""
        if reports in self._by_place:
            self._replace(reports, {})
            delete_quietly(_path(reports, file_name))

    def _replace(self, reports: str, now: dict[tuple[str, str], Preview]) -> None:
        for key in self._by_place.pop(reports, {}):
            if key not in now:
                self.watched.pop(key, None)
        self.watched.update(now)
        if now:
            self._by_place[reports] = now


previews = Previews()
"""Previews of this process."""


class PreviewTap:
    """Output that keeps a preview of its records, and passes them on."""

    def __init__(self, output: Output, run_id: str, operator: str, subtask: int) -> None:
        self._output = output
        self._key = (_first_run(run_id), operator)
        self._subtask = subtask

    def emit(self, batch: Batch) -> None:
        """Pass on a batch."""
        if previews.watched and (preview := previews.watched.get(self._key)) is not None:
            preview.add(batch, self._subtask)
        self._output.emit(batch)

    def emit_watermark(self, timestamp: int) -> None:
        """Pass on a watermark."""
        self._output.emit_watermark(timestamp)


def _watched_now(request: PreviewRequest | None) -> list[tuple[str, str]]:
    """First run and uid of each operator that somebody watches."""
    if request is None:
        return []
    now, run = time.time(), _first_run(request.run_id)
    watched = [operator for operator, until in request.until.items() if until >= now]
    return [(run, operator) for operator in watched[:MOST_OPERATORS]]


def _path(reports: str, file_name: str) -> str:
    return os.path.join(reports, file_name + SUFFIX)


def _first_run(run_id: str) -> str:
    """The run that began before the job was rescaled: later ones have a number behind it."""
    return run_id.partition(".")[0]


class _RecordRepr(ShortRepr):
    """``repr`` of one record that shows a limited number of values, whatever the record
    contains."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring, self.maxother = 200, 900
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = _MOST_OF_EACH
        self._parts = _MOST_PARTS

    def repr1(self, x: Any, level: int) -> str:
        self._parts -= 1
        return super().repr1(x, level) if self._parts >= 0 else self.fillvalue

    def repr_bytes(self, x: bytes, level: int) -> str:
        if len(x) <= self.maxother // 4:  # an escaped byte has four characters
            return repr(x)
        return f"{x[: self.maxother // 4]!r}{self.fillvalue} ({len(x):,} bytes)"

    def repr_bytearray(self, x: bytearray, level: int) -> str:
        return f"bytearray({self.repr_bytes(bytes(x[: self.maxother]), level)})"

    # the base class would sort all items first
    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        if level <= 0 or len(x) <= self.maxdict:
            return super().repr_dict(x, level)
        shown = super().repr_dict(dict(islice(x.items(), self.maxdict)), level)
        return f"{shown[:-1]}, {self.fillvalue}}}"

    def repr_set(self, x: set[Any], level: int) -> str:
        if len(x) <= self.maxset:
            return super().repr_set(x, level)
        return f"{super().repr_set(set(islice(x, self.maxset)), level)[:-1]}, {self.fillvalue}}}"


def _text(value: object) -> str:
    try:
        text = _RecordRepr().repr(value)[:LONGEST]
    except Exception as error:  # a record's own repr; the error's own text may fail, too
        text = f"<{type(value).__name__}, whose repr fails: {type(error).__name__}>"[:LONGEST]
    return printable(text)


def request_preview(reports: str, request: PreviewRequest) -> None:
    """Ask all workers of a job for the newest records of operators.

    Raises:
        CheckpointError: the file cannot be written.
        OSError: the directory of reports cannot be made.
    """
    write_report(os.path.join(reports, REQUEST), request)


def preview_request(reports: str) -> PreviewRequest | None:
    """The newest request in a directory of reports; None if there is none."""
    return read_report(os.path.join(reports, REQUEST), PreviewRequest, _MOST_BYTES)


def records_in(reports: str, operator: str) -> Iterator[PreviewedRecord]:
    """The records of an operator that workers have written."""
    for preview in reports_with(reports, SUFFIX, WorkerPreview, _MOST_BYTES):
        yield from preview.records.get(operator, ())
