"""Queryable state of a job: requests are forwarded to the job's own endpoint, with its token."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote, urlsplit

import msgspec

from millrace.common.errors import StateError
from millrace.rest.address_file import RestAddress, find_address
from millrace.server.api_route import ApiError, ApiReply, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer

__all__ = ["ROUTES", "ask_job"]

TIMEOUT = 10.0
"""Seconds in which the job must answer."""
PASSED_ON = ("Retry-After",)


def get_state(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``GET /jobs/:jobid/state`` and the paths below it."""
    # as it came: in a key, a slash that was encoded is another one
    below = request.raw_path.partition(f"/jobs/{request.path['jobid']}/state")[2]
    return ask_job(server, request, below, request.raw_query)


def ask_job(server: JobServer, request: ApiRequest, below: str, query: str) -> ApiReply:
    """Forward a request to the endpoint of the job that it names, and return the answer.

    Args:
        below: path below the job's queryable states, beginning with a slash; empty for all states.

    Raises:
        ApiError: 404 or 409, the job has no queryable state or does not run; 503, its endpoint does
            not answer.
    """
    job = server.observed(request)
    if job.job.is_over or job.directory is None:
        raise ApiError(409, f"job {job.id} does not run: it is {job.job.status.name}")
    try:
        address = find_address(job.directory)
    except StateError:
        raise ApiError(
            404, "the job has no queryable state: run it with rest.enabled=true"
        ) from None
    name = quote(job.details.job_name, safe="")
    return _asked(address, f"/jobs/{name}/state{below}", query)


def _asked(address: RestAddress, path: str, query: str) -> ApiReply:
    target = f"{path}?{query}" if query else path
    url = urlsplit(address.url)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=TIMEOUT)
    try:
        with closing(connection):
            connection.request("GET", target, headers={"Authorization": f"Bearer {address.token}"})
            response = connection.getresponse()
            headers = {name: value for name in PASSED_ON if (value := response.getheader(name))}
            body = msgspec.Raw(response.read())
    except (OSError, HTTPException, ValueError) as error:
        raise ApiError(503, f"the endpoint of the job does not answer: {error}") from None
    return ApiReply(_with_errors(body, response.status), response.status, headers=headers)


def _with_errors(body: msgspec.Raw, status: int) -> object:
    """The job's answer, with its error also in the words of this API."""
    if status < 400:
        return body
    told = msgspec.json.decode(body)
    return {**told, "errors": [told.get("error", "the job gave no reason")]}


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/state",
        get_state,
        "The queryable states of a job.",
        dict,
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/state/{statepath}",
        get_state,
        "A queryable state: operator/state, or operator/state/key; several keys as ?key=...",
        dict,
        ends_in_path=True,
    ),
)
