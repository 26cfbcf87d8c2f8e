"""Identities: a job's name in a form fit for a directory, and the name of a run."""

from __future__ import annotations

import hashlib
import re
import uuid

RAN_BEFORE = "MILLRACE_RAN_BEFORE"
"""Environment variable by which a job server says that it has started this job before."""


def job_id_of(name: str) -> str:
    """Directory name for a job: readable, and different for different job names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    return f"{readable or 'job'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def new_run_id() -> str:
    """Unique name for one run of a job."""
    return uuid.uuid4().hex[:12]
