"""The tree of savepoints, and the changes between two of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from millrace.common.errors import MillraceError
from millrace.server.api_route import ApiError, ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.savepoint_catalog import SnapshotEntry

__all__ = ["ROUTES"]

DEFAULT_SAMPLES, MOST_SAMPLES = 3, 100


class SnapshotOperator(msgspec.Struct, frozen=True):
    """An operator of a snapshot."""

    uid: str
    name: str


class SavepointNode(msgspec.Struct, frozen=True, rename="kebab"):
    """A savepoint, or the newest checkpoint of a job, in the tree."""

    id: str
    path: str
    job_id: str
    job_name: str
    parent: str | None
    """Id of the savepoint that the job started from; None if it started without one."""
    time: int
    size: int
    epoch: int
    kind: Literal["savepoint", "checkpoint"]
    format: Literal["CANONICAL", "NATIVE"]
    operators: list[SnapshotOperator]
    parallelism: int


class SavepointTree(msgspec.Struct, frozen=True):
    """Answer of ``/savepoints``, the oldest first."""

    savepoints: list[SavepointNode]


class StateDifference(msgspec.Struct, frozen=True):
    """Changes of a state, as ``millrace savepoint diff --json`` prints them."""

    uid: str
    operator: str | None
    state: str
    kind: str
    in_first: bool
    in_second: bool
    added: int
    changed: int
    removed: int
    unread: str | None
    """Reason why the state was not compared."""
    samples: list[dict[str, Any]]


def _entries(server: JobServer) -> list[SnapshotEntry]:
    jobs = [job.directory for job in server.all_observed() if job.directory is not None]
    return server.savepoints.entries(jobs, _taken(server))


def _taken(server: JobServer) -> Iterator[str]:
    """Paths of all savepoints that clients requested."""
    for trigger in server.registry.succeeded_triggers():
        path = json.loads(trigger.result or "{}").get("savepoint")
        if isinstance(path, str):
            yield path


def _node(entry: SnapshotEntry) -> SavepointNode:
    return SavepointNode(
        id=entry.id,
        path=entry.path,
        job_id=entry.job_id,
        job_name=entry.job_name,
        parent=entry.parent,
        time=entry.time,
        size=entry.size,
        epoch=entry.epoch,
        kind="checkpoint" if entry.kind == "checkpoint" else "savepoint",
        format="CANONICAL" if entry.format == "CANONICAL" else "NATIVE",
        operators=[SnapshotOperator(*operator) for operator in entry.operators],
        parallelism=entry.parallelism,
    )


def get_savepoints(server: JobServer, request: ApiRequest) -> SavepointTree:
    """Answer ``GET /savepoints``."""
    return SavepointTree([_node(entry) for entry in _entries(server)])


def get_comparison(server: JobServer, request: ApiRequest) -> list[StateDifference]:
    """Answer ``GET /savepoints/compare``."""
    from millrace.state.checkpoint.snapshot import open_snapshot
    from millrace.state.snapshot_diff import diff_snapshots
    from millrace.state.snapshot_diff_json import diff_as_json
    from millrace.state.snapshot_reader import SnapshotReader

    known = _entries(server)
    paths = [_path(known, request.query[side]) for side in ("left", "right")]
    samples = min(request.query.get("samples", DEFAULT_SAMPLES), MOST_SAMPLES)
    try:
        left, right = (SnapshotReader(open_snapshot(path)) for path in paths)
        diffs = diff_snapshots(left, right, samples)
    except MillraceError as error:
        raise ApiError(409, str(error)) from None
    return [StateDifference(**diff_as_json(diff)) for diff in diffs]


def _path(known: list[SnapshotEntry], word: str) -> str:
    """Path of a known snapshot. Others are refused: readers must not read the whole disk."""
    for entry in known:
        if word in (entry.path, entry.id):
            return entry.path
    raise ApiError(404, f"{word[:200]!r} is not one of the savepoints that /savepoints lists")


ROUTES = (
    ApiRoute(
        "GET",
        "/savepoints",
        get_savepoints,
        "All savepoints and newest checkpoints, each with its parent.",
        SavepointTree,
    ),
    ApiRoute(
        "GET",
        "/savepoints/compare",
        get_comparison,
        "The changes of each state between two snapshots.",
        list[StateDifference],
        query=(
            QueryParameter("left", description="path or id of the first", required=True),
            QueryParameter("right", description="path or id of the second", required=True),
            QueryParameter("samples", int, "of each kind of change, most keys", minimum=0),
        ),
    ),
)
