"""`watch` and `watched`: a job's progress below a cell, until the job has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from html import escape
from threading import Event, Thread
from typing import Any

from millrace.engine.job_details import JobDetails
from millrace.notebook.output_area import OutputArea

__all__ = ["details_html", "watch", "watched"]

_SECONDS = 0.5


def watch(client: Any) -> Thread:
    """Show the state of a job below this cell, and keep it up to date while other cells run.

    Args:
        client: result of `execute_async`.

    Returns:
        The thread that draws; it ends with the job.
    """
    return _drawing(client, Event())


@contextmanager
def watched(client: Any) -> Iterator[None]:
    """Show the state of a job below this cell, while the cell waits for the job to end."""
    ended = Event()
    thread = _drawing(client, ended)
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _drawing(client: Any, ended: Event) -> Thread:
    area = OutputArea(details_html(client.progress()))
    client.when_done(ended.set)

    def draw() -> None:
        while not ended.wait(_SECONDS):
            area.draw(details_html(client.progress()))
        area.draw(details_html(client.progress()))

    # with the cell's context, which says where its output goes
    thread = Thread(target=copy_context().run, args=(draw,), name="millrace-watch", daemon=True)
    thread.start()
    return thread


def details_html(details: JobDetails) -> str:
    """The state of a job as HTML."""
    ends = details.status.is_terminal_state()
    rows = [
        ("status", details.status.name),
        ("records", f"{details.records:,} ({details.records_per_second:,.0f}/s)"),
        ("watermark", _time(details.watermark)),
        ("checkpoint", "none yet" if details.checkpoint is None else str(details.checkpoint)),
        ("epoch", f"{details.epoch} ({details.epoch_ms:,.0f} ms)"),
        ("restarts", str(details.restarts)),
    ]
    if details.exceptions:
        rows.append(("last failure", str(details.exceptions[0].cause)[:300]))
    body = "".join(f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in rows)
    hint = "" if ends else "<p>client.cancel() ends it; client.stop_with_savepoint() keeps it</p>"
    name = escape(details.job_name or "job")
    return f"<table><caption>{name}</caption><tbody>{body}</tbody></table>{hint}"


def _time(watermark: int | None) -> str:
    if watermark is None:
        return "none yet"
    try:
        return f"{datetime.fromtimestamp(watermark / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "at the end of the input"
