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
from reprlib import Repr
from threading import Lock

import msgspec

from millrace.common.errors import CheckpointError
from millrace.common.typed_json import decode_json
from millrace.common.types.batch import Batch
from millrace.runtime.output import Output
from millrace.state.checkpoint.files import delete_quietly, write_file

__all__ = [
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
_MOST_BYTES = 1 << 20


class PreviewRequest(msgspec.Struct, frozen=True):
    """Request to watch the output of an operator."""

    run_id: str
    operator: str
    """Uid of the operator."""
    until: float
    """Time at which nobody watches any more, in seconds since the Unix epoch."""


class PreviewedRecord(msgspec.Struct, frozen=True):
    """A record that an operator has emitted."""

    time: float
    """Seconds since the Unix epoch."""
    subtask: int
    text: str
    """``repr`` of the record, shortened."""


class WorkerPreview(msgspec.Struct, frozen=True):
    """Newest records of a worker; the content of its file."""

    operator: str
    records: tuple[PreviewedRecord, ...]


class Preview:
    """Newest records of one operator in this process. Operators add records in their threads, and
    the watchdog's thread takes them."""

    def __init__(self, request: PreviewRequest) -> None:
        self.request = request
        self.is_new = False
        """Whether records have been added since they were last taken."""
        self._records: deque[PreviewedRecord] = deque(maxlen=KEPT)
        self._left = MOST_RECORDS
        self._lock = Lock()

    def add(self, batch: Batch, subtask: int) -> None:
        """Take the first records of a batch, as far as this second's number allows."""
        if self._left <= 0:
            return
        with self._lock:
            values = batch.slice(0, self._left).to_rows().values
            self._left -= len(values)
            self.is_new = True
            now = time.time()
            self._records += (PreviewedRecord(now, subtask, _text(value)) for value in values)

    def taken(self) -> WorkerPreview:
        """The newest records; a new second begins."""
        with self._lock:
            self._left, self.is_new = MOST_RECORDS, False
            return WorkerPreview(self.request.operator, tuple(self._records))


class Previews:
    """The operators of this process that somebody watches, by run and uid."""

    def __init__(self) -> None:
        self.watched: dict[tuple[str, str], Preview] = {}
        """Empty as long as nobody watches."""
        self._by_place: dict[str, Preview] = {}

    def look(self, reports: str, file_name: str) -> None:
        """Take note of a job's watcher, and write what the watched operator has emitted.

        Args:
            reports: the directory of reports in the job's directory.
            file_name: name of this worker's files.
        """
        request = preview_request(reports)
        preview = self._by_place.get(reports)
        path = os.path.join(reports, file_name + SUFFIX)
        if request is None or request.until < time.time():
            if preview is not None:
                self._forget(reports)
                delete_quietly(path)
            return
        if preview is None or _key(preview.request) != _key(request):
            self._forget(reports)
            preview = self._by_place[reports] = self.watched[_key(request)] = Preview(request)
            preview.is_new = True  # the file may have records of another operator
        if preview.is_new:
            with suppress(CheckpointError, OSError):
                content = msgspec.json.encode(preview.taken())
                write_file(path, (content,), durable=False)

    def _forget(self, reports: str) -> None:
        preview = self._by_place.pop(reports, None)
        if preview is not None:
            self.watched.pop(_key(preview.request), None)


previews = Previews()
"""Previews of this process."""


class PreviewTap:
    """Output that shows its records to people who watch, and passes them on."""

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


def _key(request: PreviewRequest) -> tuple[str, str]:
    return _first_run(request.run_id), request.operator


def _first_run(run_id: str) -> str:
    """The run that began before the job was rescaled: later ones have a number behind it."""
    return run_id.partition(".")[0]


_short = Repr()
_short.maxstring, _short.maxother = 200, 900
_short.maxdict = _short.maxlist = _short.maxtuple = 40


def _text(value: object) -> str:
    try:
        return _short.repr(value)[:LONGEST]
    except Exception as error:  # a record's own repr
        return f"<{type(value).__name__}, whose repr fails: {error}>"[:LONGEST]


def request_preview(reports: str, request: PreviewRequest) -> None:
    """Ask all workers of a job for the newest records of an operator.

    Raises:
        CheckpointError: the file cannot be written.
    """
    with suppress(FileExistsError):
        os.mkdir(reports, 0o700)
    write_file(os.path.join(reports, REQUEST), (msgspec.json.encode(request),), durable=False)


def preview_request(reports: str) -> PreviewRequest | None:
    """The newest request in a directory of reports; None if there is none."""
    try:
        with open(os.path.join(reports, REQUEST), "rb") as file:
            return decode_json(file.read(_MOST_BYTES), PreviewRequest)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def records_in(reports: str, operator: str) -> Iterator[PreviewedRecord]:
    """The records of an operator that workers have written."""
    with suppress(OSError):
        for name in sorted(os.listdir(reports)):
            if name.endswith(SUFFIX):
                with suppress(OSError, msgspec.MsgspecError, ValueError, RecursionError):
                    with open(os.path.join(reports, name), "rb") as file:
                        preview = decode_json(file.read(_MOST_BYTES), WorkerPreview)
                    if preview.operator == operator:
                        yield from preview.records
