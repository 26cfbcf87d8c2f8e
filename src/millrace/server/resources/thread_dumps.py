"""Stacks of the server's threads and of the workers of its jobs."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.resources.stacks import stacks_of
from millrace.server.resources.taskmanagers import found_worker

__all__ = ["ROUTES"]


class ThreadInfo(msgspec.Struct, frozen=True, rename="camel"):
    """A thread. For a worker, a subtask that has been running for a long time."""

    thread_name: str
    stringified_thread_info: str
    """Stack of the thread, the newest call last."""


class ThreadDump(msgspec.Struct, frozen=True, rename="camel"):
    """Answer of ``/jobmanager/thread-dump`` and ``/taskmanagers/:id/thread-dump``."""

    thread_infos: list[ThreadInfo]


def server_threads() -> Iterator[ThreadInfo]:
    """The threads of this process."""
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is not None:
            yield ThreadInfo(thread.name, "".join(traceback.format_stack(frame)))


def worker_threads(jobs: Sequence[ObservedJob], worker: str) -> Iterator[ThreadInfo]:
    """Subtasks, of all jobs, that have been running for a long time in a worker.

    All are asked at once: one that does not answer does not keep the others waiting.
    """
    with ThreadPoolExecutor(max(1, len(jobs)), "millrace-stacks") as asking:
        answers = list(asking.map(stacks_of, jobs))
    for job, answer in zip(jobs, answers, strict=True):
        for subtask in answer.subtasks:
            if subtask.worker == worker:
                name = f"{job.name}: {subtask.operator} ({subtask.subtask + 1})"
                yield ThreadInfo(name, subtask.stack)


def get_server_dump(server: JobServer, request: ApiRequest) -> ThreadDump:
    """Answer ``GET /jobmanager/thread-dump``."""
    return ThreadDump(list(server_threads()))


def get_worker_dump(server: JobServer, request: ApiRequest) -> ThreadDump:
    """Answer ``GET /taskmanagers/:taskmanagerid/thread-dump``."""
    worker = found_worker(server, request)
    return ThreadDump(list(worker_threads(worker.jobs, worker.id)))


ROUTES = (
    ApiRoute(
        "GET",
        "/jobmanager/thread-dump",
        get_server_dump,
        "The stacks of the server's threads.",
        ThreadDump,
    ),
    ApiRoute(
        "GET",
        "/taskmanagers/{taskmanagerid}/thread-dump",
        get_worker_dump,
        "The stacks of a worker's subtasks that have been running for long.",
        ThreadDump,
    ),
)
