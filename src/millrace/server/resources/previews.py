"""Previews: newest records that an operator of a running job has emitted."""

from __future__ import annotations

import os
from threading import Lock

import msgspec

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import CheckpointError
from millrace.filesystem.location import is_local
from millrace.runtime.previews import (
    MOST_OPERATORS,
    PreviewRequest,
    preview_request,
    records_in,
    request_preview,
)
from millrace.runtime.watchdog import REPORTS
from millrace.server.api_route import AccessRole, ApiError, ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer

__all__ = ["ROUTES"]

WATCHED = 15.0
"""Seconds after a request in which workers go on taking records."""
RENEWED = 10.0
"""Seconds before the end of that time at which a further request extends it."""
MOST_RECORDS = 100
_requesting = Lock()
"""Held while a request is read and written again."""


class PreviewRecord(msgspec.Struct, frozen=True):
    """A record that an operator has emitted."""

    time: int
    """ms since the epoch of Unix."""
    subtask: int
    text: str
    """``repr`` of the record, shortened."""


class PreviewAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/vertices/:vertexid/preview``."""

    enabled: bool
    """Whether the job's options allow previews."""
    operator: str
    """Uid of the operator."""
    records: list[PreviewRecord]
    """The newest one first."""


def get_preview(server: JobServer, request: ApiRequest) -> PreviewAnswer:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/preview``. The first request starts the preview
    of records, which stops when there are no more requests.
    """
    job, vertex = server.observed_vertex(request)
    operators = [vertex.uid] if vertex.details is None else list(vertex.details.operators)
    operator = request.query.get("operator") or operators[0]
    if operator not in operators:
        raise ApiError(404, f"vertex {vertex.id} has no operator with the uid {operator[:200]!r}")
    archive = job.archive
    enabled = archive is not None and Configuration(archive.settings).get(options.PREVIEW)
    if archive is None or not enabled or job.job.is_over or job.directory is None:
        return PreviewAnswer(enabled, operator, [])
    if not is_local(str(job.directory)):
        raise ApiError(409, "records are only shown of jobs whose directory is on a disk")
    reports = os.path.join(job.directory, REPORTS)
    _watch(reports, archive.run_id, operator, server.now() / 1_000)
    # records of a batch have one time, and the last of them is the newest
    records = sorted(records_in(reports, operator), key=lambda record: record.time)[::-1]
    return PreviewAnswer(
        enabled,
        operator,
        [
            PreviewRecord(round(record.time * 1_000), record.subtask, record.text)
            for record in records[:MOST_RECORDS]
        ],
    )


def _watch(reports: str, run_id: str, operator: str, now: float) -> None:
    with _requesting:
        known = preview_request(reports)
        ends = known.until if known is not None and known.run_id == run_id else {}
        if ends.get(operator, 0.0) > now + RENEWED:
            return
        others = {uid: end for uid, end in ends.items() if end >= now and uid != operator}
        newest = sorted(others, key=others.__getitem__)[-(MOST_OPERATORS - 1) :]
        until = {operator: now + WATCHED, **{uid: others[uid] for uid in newest}}
        try:
            request_preview(reports, PreviewRequest(run_id, until))
        except (CheckpointError, OSError) as error:
            raise ApiError(409, f"the job's workers cannot be asked for records: {error}") from None


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/vertices/{vertexid}/preview",
        get_preview,
        "The newest records that an operator has emitted, if the job has "
        "millrace.preview.enabled=true.",
        PreviewAnswer,
        AccessRole.OPERATE,
        query=(
            QueryParameter("operator", description="uid of an operator; none: the vertex's first"),
        ),
    ),
)
