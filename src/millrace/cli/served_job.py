"""A job of a job server, operated over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.cli.job_overview import JobOverview, overview_of_server
from millrace.cli.jobs import SHORTEST
from millrace.cli.server_client import ServerClient
from millrace.common.errors import JobControlError
from millrace.common.job import JobStatus
from millrace.common.similar_names import did_you_mean

__all__ = ["ServedJob", "find_served_job", "served_jobs"]

POLL = 0.1
"""Seconds between two questions whether something is done."""


@dataclass(frozen=True, slots=True)
class ServedJob:
    """A job of a server."""

    client: ServerClient
    id: str
    name: str
    status: JobStatus
    summary: dict[str, Any]
    """As ``/jobs/overview`` has it."""

    @property
    def is_running(self) -> bool:
        """Whether the job has not ended."""
        return not self.status.is_terminal_state()

    def not_running(self) -> str | None:
        """None if the job runs; otherwise a text with its outcome."""
        return None if self.is_running else f": it is {self.status.name}{self.failure()}"

    def ask(
        self,
        command: str,
        arguments: dict[str, Any],
        timeout: float,
        waiting: Callable[[str], None],
    ) -> dict[str, Any]:
        """Answer of the job to a command, as `millrace.engine.control_client.ask` gives it.

        Raises:
            JobControlError: the job refuses, fails to do it, or does not answer in time.
        """
        ask = {
            "checkpoint": self._make_checkpoint,
            "savepoint": self._take_savepoint,
            "stop": self._stop,
            "cancel": self._cancel,
            "rescale": self._rescale,
            "message": self._send_message,
            "status": self._read_status,
            "stacks": self._read_stacks,
        }[command]
        return ask(arguments, timeout)

    def await_end(self, timeout: float) -> bool:
        """Wait for the job's end; False if it still runs after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while not self._now().is_terminal_state():
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL)
        return True

    def failure(self) -> str:
        """Short reason of the job's failure; empty if it did not fail."""
        error = str(self.client.get(f"/jobs/{self.id}").get("error") or "")
        return f": it failed: {error.strip().splitlines()[-1]}" if error.strip() else ""

    def overview(self) -> JobOverview:
        """Overview of the job.

        Raises:
            JobControlError: its server does not answer.
        """
        path, get = f"/jobs/{self.id}", self.client.get
        return overview_of_server(get(path), get(f"{path}/checkpoints"), get(f"{path}/exceptions"))

    def log(self, offset: int) -> tuple[str, int]:
        """Text of the log from ``offset`` bytes (negative: from the end), and the next offset."""
        part = self.client.get(f"/jobs/{self.id}/log", offset=offset)
        return part["text"], part["next"]

    # -- commands ----------------------------------------------------------------------------------

    def _make_checkpoint(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        trigger = self.client.post(f"/jobs/{self.id}/checkpoints", {})
        return {"checkpoint": self._await("checkpoints", trigger, timeout)["checkpointId"]}

    def _take_savepoint(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        body = {"formatType": arguments["format"].upper(), "cancel-job": False}
        if arguments["directory"] is not None:
            body["target-directory"] = arguments["directory"]
        trigger = self.client.post(f"/jobs/{self.id}/savepoints", body)
        return {"savepoint": self._await("savepoints", trigger, timeout).get("location")}

    def _stop(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        if not arguments["savepoint"]:
            raise JobControlError(
                "a server stops jobs with a savepoint; 'millrace cancel' ends a job with "
                "its last checkpoint"
            )
        body = {"formatType": arguments["format"].upper(), "drain": arguments["drain"]}
        if arguments["directory"] is not None:
            body["targetDirectory"] = arguments["directory"]
        trigger = self.client.post(f"/jobs/{self.id}/stop", body)
        location = self._await("savepoints", trigger, timeout).get("location")
        return {"savepoint": location, "status": self._now().name}

    def _cancel(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        self.client.patch(f"/jobs/{self.id}", mode="cancel")
        if not self.await_end(timeout):
            raise JobControlError(
                f"the job has not ended within {timeout:.0f} s; it is still ending"
            )
        return {"status": self._now().name}

    def _rescale(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        parallelism = arguments["parallelism"]
        trigger = self.client.patch(f"/jobs/{self.id}/rescaling", parallelism=parallelism)
        self._await("rescaling", trigger, timeout)
        return {"parallelism": parallelism}

    def _send_message(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        trigger = self.client.post(f"/jobs/{self.id}/messages", arguments)
        return {"checkpoint": self._await("messages", trigger, timeout)["checkpointId"]}

    def _read_status(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        job = self.client.get(f"/jobs/{self.id}")
        latest = self.client.get(f"/jobs/{self.id}/checkpoints").get("latest") or {}
        names = ("epoch", "records", "records-per-second", "watermark", "waits-for")
        answer = {name.replace("-", "_"): job[name] for name in names}
        checkpoint = (latest.get("completed") or {}).get("id")
        return {**answer, "status": job["state"], "checkpoint": checkpoint}

    def _read_stacks(self, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        answer = self.client.get(f"/jobs/{self.id}/stacks")
        return {
            "status": self._now().name,
            "waits_for": answer.get("waits-for", ""),
            "stacks": answer["subtasks"],
            "driver": answer["driver"] or "",
        }

    def _await(self, kind: str, trigger: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Result of a triggered operation."""
        deadline = time.monotonic() + timeout
        path = f"/jobs/{self.id}/{kind}/{trigger['request-id']}"
        while (answer := self.client.get(path))["status"]["id"] != "COMPLETED":
            if time.monotonic() > deadline:
                raise JobControlError(
                    f"the job did not finish the request within {timeout:.0f} s; it is "
                    "still working on it"
                )
            time.sleep(POLL)
        operation: dict[str, Any] = answer.get("operation") or {}
        cause = operation.get("failure-cause") or operation.get("failureCause")
        if cause is not None:
            raise JobControlError(str(cause["stack-trace"]).strip())
        return operation

    def _now(self) -> JobStatus:
        return JobStatus[self.client.get(f"/jobs/{self.id}/status")["status"]]


def served_jobs(client: ServerClient) -> list[ServedJob]:
    """The jobs of a server, the newest first."""
    return [
        ServedJob(client, one["jid"], one["name"], JobStatus[one["state"]], one)
        for one in client.get("/jobs/overview")["jobs"]
    ]


def find_served_job(client: ServerClient, word: str) -> ServedJob:
    """Find a job by its name, its id, or the first characters of the id. If several jobs have the
    name, exactly one of them must be unfinished, and is returned.

    Raises:
        JobControlError: no job matches ``word``, or several do.
    """
    jobs = served_jobs(client)
    matches = [job for job in jobs if word in (job.id, job.name)]
    if not matches and len(word) >= SHORTEST:
        matches = [job for job in jobs if job.id.startswith(word)]
    if len(matches) > 1:
        matches = [job for job in matches if job.is_running] or matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = " or ".join(job.id for job in matches)
        raise JobControlError(f"{word!r} could be {ids}; name the id")
    raise JobControlError(_not_found(client, word, jobs))


def _not_found(client: ServerClient, word: str, jobs: Sequence[ServedJob]) -> str:
    known = [job.name for job in jobs] + [job.id for job in jobs]
    hint = did_you_mean(word, known, "see 'millrace list --server URL'")
    return f"the server at {client.address.url} has no job {word!r}{hint}"
