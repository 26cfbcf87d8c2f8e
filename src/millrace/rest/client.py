"""Client of a running job's queryable state. Flink: class ``QueryableStateClient``."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import MillraceError, StateError
from millrace.common.job import JobID
from millrace.common.state.descriptors import State, StateDescriptor
from millrace.common.types.json_values import dumps, from_json, to_json
from millrace.common.types.typeinfo import TypeInformation
from millrace.rest.address_file import RestAddress, find_address
from millrace.rest.immutable_states import immutable_state
from millrace.state.checkpoint.files import StrPath

__all__ = ["QueryableStateClient", "QueryableStateError"]

UNAVAILABLE = 503
POLL_SECONDS = 0.05
EXACT = "json=1"
"""Query parameter by which keys are JSON, so that the endpoint guesses nothing."""


class QueryableStateError(MillraceError):
    """The endpoint cannot be reached, or refused the request."""

    def __init__(self, message: str, status: int = 0, body: Any = None) -> None:
        super().__init__(message, status, body)
        self.status = status
        """HTTP status; 0 if there was no answer."""
        self.body = body
        """Answer of the endpoint as parsed JSON."""

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def unknown(self) -> str | None:
        """The missing thing: ``job``, ``operator``, ``state`` or ``key``; None for other errors."""
        return self.body.get("unknown") if isinstance(self.body, dict) else None

    @property
    def loading(self) -> bool:
        """Whether the job has just started, so that a later attempt may succeed."""
        return self.status == UNAVAILABLE


class QueryableStateClient:
    """Reads queryable state over HTTP; safe for several threads, each with its own connection.

    Semantics: Flink docs, "Queryable State". Unlike there, answers are committed: what a client
    has seen is never taken back.

    Args:
        remote_hostname: host of the job's driver.
        remote_port: port of the job's REST endpoint.
        token: token of the job's REST endpoint.
        timeout: seconds to wait for an answer.

    Example: a value per key, from a job that runs with ``rest.enabled=true``::

        client = QueryableStateClient.of_job("/data/checkpoints", "clicks")
        client.get("count", "clicks-per-user", "alice")
    """

    def __init__(
        self, remote_hostname: str, remote_port: int, token: str, timeout: float = 10.0
    ) -> None:
        self._host = remote_hostname
        self._port = remote_port
        self._authorization = {"Authorization": f"Bearer {token}"}
        self._timeout = timeout
        self._local = threading.local()
        self._job: str | None = None

    @staticmethod
    def of_job(
        directory: StrPath, job_name: str | None = None, timeout: float = 10.0, wait: float = 0.0
    ) -> QueryableStateClient:
        """A client of the job with this directory (see `JobClient.get_job_directory`), or of the
        job with a name in a checkpoint directory on this machine.

        Args:
            wait: seconds to wait until the job has started and its state can be queried.

        Raises:
            StateError: the job does not run, or has no endpoint.
            QueryableStateError: the job's state is still being loaded after ``wait`` seconds.
        """
        deadline = time.monotonic() + wait
        while True:
            try:
                client = _client_at(find_address(directory, job_name), timeout)
                if wait and any(map(_is_loading, client.states())):
                    raise QueryableStateError("state is still being loaded", UNAVAILABLE)
                return client
            except (StateError, QueryableStateError):
                if time.monotonic() >= deadline:
                    raise
            time.sleep(POLL_SECONDS)

    def get(self, operator: str, name: str, key: Any, job: JobID | str | None = None) -> Any:
        """The value of a key as parsed JSON.

        Args:
            operator: uid or name of the operator.
            name: the queryable name of the state, or its own.
            key: any value that can be a key.
            job: id or name of the job; None for the only job of the endpoint.

        Raises:
            QueryableStateError: there is no such key, state, operator or job (`unknown` tells
                which), the state is still being loaded, or nobody answers.
        """
        return self.ask(f"{self._path(job, operator, name, _text(key))}?{EXACT}")["value"]

    def get_all(
        self, operator: str, name: str, keys: Iterable[Any], job: JobID | str | None = None
    ) -> dict[Any, Any]:
        """The values of those ``keys`` that exist, all from one checkpoint; raises the same
        errors as `get`."""
        wanted = list(keys)
        query = urlencode([("key", _text(key)) for key in wanted])
        answer = self.ask(f"{self._path(job, operator, name)}?{EXACT}&{query}")
        pairs = zip(wanted, answer["values"], strict=True)
        return {key: entry["value"] for key, entry in pairs if entry["found"]}

    def states(self, job: JobID | str | None = None) -> list[dict[str, Any]]:
        """The queryable states of a job; raises the same errors as `get`."""
        states: list[dict[str, Any]] = self.ask(self._path(job))["states"]
        return states

    def get_kv_state(
        self,
        job_id: JobID | str | None,
        queryable_state_name: str,
        key: Any,
        key_type_info: TypeInformation[Any] | None,
        state_descriptor: StateDescriptor,
    ) -> CompletableFuture[State]:
        """The state of a key, with the type that its descriptor declares; it cannot be changed.
        Flink's ``getKvState``. ``key_type_info`` has no effect, because the endpoint knows the type
        of keys.

        The future raises as `get` does. Of an aggregating state its accumulator is asked for, from
        which the descriptor's function makes the result.
        """
        future: CompletableFuture[State] = CompletableFuture()
        try:
            operator = self._operator_of(job_id, queryable_state_name)
            value = self.get(operator, queryable_state_name, key, job_id)
            typed = from_json(value, state_descriptor.type_info)
            future.set_result(immutable_state(state_descriptor, typed))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown_and_wait(self) -> None:
        """Close this thread's connection."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def ask(self, path: str) -> Any:
        """The parsed answer to ``GET path``; raises the same errors as `get`."""
        try:
            status, content = self._exchange(path)
            body = json.loads(content)
        except (OSError, HTTPException, ValueError) as error:
            self.shutdown_and_wait()
            raise QueryableStateError(
                f"no answer from {self._host}:{self._port}: {error}"
            ) from error
        if status != 200:
            raise QueryableStateError(_words(status, body), status, body)
        return body

    def _exchange(self, path: str) -> tuple[int, bytes]:
        connection = self._local.__dict__.get("connection")
        if connection is not None:
            try:
                return self._request(connection, path)
            except (OSError, HTTPException):
                self.shutdown_and_wait()  # the server closes idle ones: once more
        connection = HTTPConnection(self._host, self._port, timeout=self._timeout)
        self._local.connection = connection
        return self._request(connection, path)

    def _request(self, connection: HTTPConnection, path: str) -> tuple[int, bytes]:
        connection.request("GET", path, headers=self._authorization)
        response = connection.getresponse()
        return response.status, response.read()

    def _path(self, job: JobID | str | None, *parts: str) -> str:
        names = [str(job or self._only_job()), "state", *parts]
        return "/jobs/" + "/".join(quote(name, safe="") for name in names)

    def _only_job(self) -> str:
        if self._job is None:
            self._job = str(self.ask("/jobs")["jobs"][0]["id"])
        return self._job

    def _operator_of(self, job: JobID | str | None, name: str) -> str:
        states = self.states(job)
        uids = [str(state["uid"]) for state in states if state["name"] == name]
        if len(uids) == 1:
            return uids[0]
        known = ", ".join(sorted({str(state["name"]) for state in states})) or "none"
        what = f"{len(uids)} states are called" if uids else "there is no queryable state"
        raise QueryableStateError(
            f"{what} '{name}' (there are: {known})", 404, {"unknown": "state", "known": known}
        )


def _client_at(address: RestAddress, timeout: float) -> QueryableStateClient:
    url = urlsplit(address.url)
    return QueryableStateClient(url.hostname or "", url.port or 0, address.token, timeout)


def _is_loading(state: dict[str, Any]) -> bool:
    return state["keys"] is None and "problem" not in state


def _text(key: Any) -> str:
    """Text of a key in a URL."""
    return dumps(to_json(key)).decode()


def _words(status: int, body: Any) -> str:
    """Message of an answer with a status other than 200."""
    if not isinstance(body, dict):
        return f"HTTP {status}"
    known = body.get("known")
    listed = f" (there are: {json.dumps(known, ensure_ascii=False)})" if known else ""
    return f"{body.get('error', f'HTTP {status}')}{listed}"
