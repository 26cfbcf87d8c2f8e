"""``millrace status``: shows the progress of a running job, or the outcome of an ended one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import ask_job, report

if TYPE_CHECKING:
    from millrace.cli.operated_job import DirectoryJob
    from millrace.cli.served_job import ServedJob


def register(commands: Commands) -> None:
    """Add ``millrace status`` to the parser."""
    add_job(add_command(commands, "status", handle, "show the progress of a job, or its outcome"))


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Request the status from the job, or read the record of its last run."""
    from millrace.cli.operated_job import DirectoryJob, operated_job
    from millrace.cli.progress_line import describe
    from millrace.cli.served_job import ServedJob
    from millrace.engine.job_details import JobDetails

    job = operated_job(args)
    if isinstance(job, DirectoryJob) and job.job.run is None:
        return _report_end(args, job)
    if isinstance(job, ServedJob) and not job.is_running:
        return _report_served_end(args, job)
    answer = ask_job(job, args.timeout, "status")
    known = ("epoch", "checkpoint", "records", "records_per_second", "watermark")
    progress = JobDetails(**{name: answer[name] for name in known})
    text = f"{job.name} is {answer['status']}: {describe(progress)}"
    if answer["waits_for"]:
        text += f"\n{answer['waits_for']}"
    return report(args, job, answer, text)


def _report_end(args: argparse.Namespace, ended: DirectoryJob) -> int:
    from millrace.common.time.local_time import time_text

    job = ended.job
    record, newest = job.record, job.checkpoint
    answer = {
        "status": record.status if record is not None and job.state != "killed" else None,
        "state": job.state,
        "checkpoint": newest.number if newest is not None else None,
        "ended": record.ended if record is not None else None,
        "error": job.error or None,
        "operator": record.operator or None if record is not None else None,
    }
    when = f" at {time_text(record.ended)}" if record is not None and record.ended else ""
    kept = f"; its newest checkpoint is {newest.number}" if newest is not None else ""
    text = f"{job.name} is not running: {job.state}{when}{kept}"
    if job.error:
        where = f" in operator '{answer['operator']}'" if answer["operator"] else ""
        text += f"\nit failed{where}:\n{job.error.rstrip()}"
    return report(args, ended, answer, text)


def _report_served_end(args: argparse.Namespace, job: ServedJob) -> int:
    from millrace.common.time.local_time import time_text

    ended, error = job.summary["end-time"], job.client.get(f"/jobs/{job.id}")["error"]
    answer = {"status": job.status.name, "ended": ended, "error": error or None}
    when = f" at {time_text(ended)}" if ended > 0 else ""
    text = f"{job.name} is not running: {job.status.name}{when}"
    if error:
        text += f"\nit failed:\n{error.rstrip()}"
    return report(args, job, answer, text)
