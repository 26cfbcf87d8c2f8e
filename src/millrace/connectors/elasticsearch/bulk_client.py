"""Bulk requests to the nodes of a cluster, and the meaning of their responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from millrace.common.installation import missing_package
from millrace.connectors.elasticsearch.action import PreparedAction
from millrace.connectors.elasticsearch.connection import Connection
from millrace.connectors.elasticsearch.errors import ElasticsearchError, TransientFailure

__all__ = ["BulkClient", "Refusal"]

_PATH = "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
_OVERLOADED = (429, 502, 503, 504)
_CONFLICT, _NOT_FOUND, _TOO_LARGE = 409, 404, 413
_UNAUTHORIZED = (401, 403)
_REASON_LENGTH = 500


class Refusal(NamedTuple):
    """A document that was not written.

    Attributes:
        action: the sent action.
        may_pass: whether it may be written if it is sent again.
    """

    action: PreparedAction
    status: int
    kind: str
    reason: str
    may_pass: bool


class _Outcome(msgspec.Struct):
    errors: bool


class _Error(msgspec.Struct):
    type: str = ""
    reason: str | None = None


class _Item(msgspec.Struct):
    status: int
    error: _Error | None = None


class _Answer(msgspec.Struct):
    items: list[dict[str, _Item]]


_OUTCOME = msgspec.json.Decoder(_Outcome).decode
_ANSWER = msgspec.json.Decoder(_Answer).decode


class BulkClient:
    """Sends bulk requests to the nodes in turn, and keeps its connections open.

    Raises:
        ElasticsearchError: urllib3 is not installed.
    """

    def __init__(self, connection: Connection) -> None:
        urllib3 = _import_urllib3()
        self._connection = connection
        self._failures = urllib3.exceptions.HTTPError
        timeout = urllib3.Timeout(
            connect=connection.connect_timeout_ms / 1000, read=connection.socket_timeout_ms / 1000
        )
        options: dict[str, Any] = {"timeout": timeout, "retries": False, "maxsize": 1}
        options["headers"] = _headers(connection, urllib3)
        if connection.ca_certificates is not None:
            options["ca_certs"] = connection.ca_certificates
        self._pools = urllib3.PoolManager(**options)
        self._next = 0

    def send(self, actions: Sequence[PreparedAction]) -> list[Refusal]:
        """Send the actions in one request and return the refused ones.

        Raises:
            TransientFailure: no node takes the request now.
            ElasticsearchError: the cluster refuses the request as a whole.
        """
        lines = []
        for action in actions:
            lines.append(action.header)
            if action.document is not None:
                lines.append(action.document)
        lines.append(b"")
        status, answer = self._request(b"\n".join(lines))
        if status in _OVERLOADED:
            raise TransientFailure(f"the cluster answered {status}: {_reason(answer)}")
        if status >= 300:
            raise ElasticsearchError(self._refused(status, answer))
        try:
            return _refusals(actions, answer) if _OUTCOME(answer).errors else []
        except msgspec.MsgspecError as error:
            raise ElasticsearchError(
                f"{self._where()} does not answer like Elasticsearch or OpenSearch: "
                f"{answer[:100]!r}"
            ) from error

    def _request(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the response of the first reachable node."""
        hosts = self._connection.hosts
        reasons = []
        for turn in range(len(hosts)):
            host = hosts[(self._next + turn) % len(hosts)]
            url = host + self._connection.path_prefix + _PATH
            try:
                response = self._pools.request("POST", url, body=body, redirect=False)
            except self._failures as error:
                reasons.append(f"{host}: {_spoken(error)}")
                continue
            self._next = (self._next + turn) % len(hosts)
            return response.status, response.data
        raise TransientFailure("; ".join(reasons))

    def _where(self) -> str:
        return self._connection.hosts[self._next] + self._connection.path_prefix

    def _refused(self, status: int, answer: bytes) -> str:
        if status in _UNAUTHORIZED:
            return (
                f"{self._where()} refuses {self._connection.identity} ({status}): see "
                "set_connection_username() and set_connection_password(), or "
                "set_connection_api_key(), and the rights to write to the index"
            )
        if status == _TOO_LARGE:
            return (
                f"{self._where()} refuses a request as too large ({status}): lower "
                "set_bulk_flush_max_size_mb() or raise the cluster's http.max_content_length"
            )
        return f"{self._where()} refuses a bulk request ({status}): {_reason(answer)}"

    def close(self) -> None:
        """Close the connections."""
        self._pools.clear()


def _refusals(actions: Sequence[PreparedAction], answer: bytes) -> list[Refusal]:
    refused = []
    for action, item in zip(actions, _ANSWER(answer).items, strict=True):
        [result] = item.values()
        status = result.status
        # a delete that is repeated finds nothing, and that is what it wants
        if status < 300 or (action.operation == "delete" and status == _NOT_FOUND):
            continue
        error = result.error or _Error()
        may_pass = status in (*_OVERLOADED, _CONFLICT)
        reason = (error.reason or "no reason given")[:_REASON_LENGTH]
        refused.append(Refusal(action, status, error.type, reason, may_pass))
    return refused


def _headers(connection: Connection, urllib3: Any) -> dict[str, str]:
    headers = {"content-type": "application/x-ndjson"}
    if connection.api_key is not None:
        headers["authorization"] = f"ApiKey {connection.api_key}"
    elif connection.token is not None:
        headers["authorization"] = f"Bearer {connection.token}"
    elif connection.username is not None:
        pair = f"{connection.username}:{connection.password or ''}"
        headers |= urllib3.make_headers(basic_auth=pair)
    return headers


def _reason(answer: bytes) -> str:
    """The cluster's error message, or the raw response."""
    try:
        error = msgspec.json.decode(answer)["error"]
        said = error["reason"] if isinstance(error, dict) else error
    except (msgspec.MsgspecError, KeyError, TypeError):
        said = answer.decode(errors="replace")
    return str(said)[:_REASON_LENGTH]


def _spoken(error: Exception) -> str:
    """The client's error message, without the names of its objects."""
    return str(error).rpartition(": ")[2] or type(error).__name__


def _import_urllib3() -> Any:
    try:
        import urllib3
    except ImportError as error:
        raise ElasticsearchError(
            missing_package(
                "the Elasticsearch connector needs", "urllib3", "elasticsearch", on_workers=True
            )
        ) from error
    return urllib3
