"""States of one address of Stateful Functions, from the queryable state of its job."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import msgspec

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import install_command
from millrace.server.api_route import ApiError, ApiReply, ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.resources.queryable_state import ask_job
from millrace.statefun.address import FunctionType, TypedValue

__all__ = ["ROUTES"]

_FORM = "NAMESPACE/NAME/ID or NAMESPACE/NAME/ID/STATE, each part percent-encoded"


class FunctionState(msgspec.Struct, frozen=True):
    """A state of an address."""

    state: str
    typename: str
    value: str
    """Value of a built-in type, or bytes of another type, as people read them."""
    bytes: str
    """Bytes of the value, in base64."""


class AddressStates(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/functions/:namespace/:name/:id``."""

    function: str
    id: str
    checkpoint: int
    """Checkpoint that the states are of."""
    timestamp: int
    """Time of the checkpoint in ms since the Unix epoch."""
    states: list[FunctionState]


def get_states(server: JobServer, request: ApiRequest) -> AddressStates | ApiReply:
    """Answer ``GET /jobs/:jobid/functions/:functionpath``: the states of an address, or one of
    them."""
    try:
        from millrace.statefun.endpoint_update import MODULE_NAME
        from millrace.statefun.function_state_client import states_path, states_within
    except ImportError:
        raise ApiError(400, f"the server lacks libraries: {install_command('statefun')}") from None
    function, id, name = _place(request)
    functions = request.query.get("functions") or MODULE_NAME
    reply = ask_job(server, request, f"/{states_path(functions, id)}", "json=1")
    answer = msgspec.json.decode(reply.body) if isinstance(reply.body, msgspec.Raw) else reply.body
    if reply.status == HTTPStatus.OK:
        states = states_within(answer["value"], function)
    elif answer.get("unknown") == "key":
        states = {}
    else:
        return reply
    if name is not None and name not in states:
        known = ", ".join(sorted(states)) or "none"
        raise ApiError(404, f"{function}/{id} has no state {name[:200]!r}, only: {known}")
    shown = [_shown(n, states[n]) for n in sorted(states) if name in (None, n)]
    return AddressStates(str(function), id, *_moment(answer), shown)


def _place(request: ApiRequest) -> tuple[FunctionType, str, str | None]:
    """Function and id of the address, and the name of a state or None.

    Raises:
        ApiError: 404, the path has too few or too many parts.
    """
    # as it came: in an id, a slash that was encoded is another one
    below = request.raw_path.partition(f"/jobs/{request.path['jobid']}/functions/")[2]
    parts = [unquote(part) for part in below.split("/")]
    if len(parts) not in (3, 4):
        raise ApiError(404, f"the path below 'functions' is {_FORM}")
    try:
        function = FunctionType.of(f"{parts[0]}/{parts[1]}")
    except JobDefinitionError as error:
        raise ApiError(404, str(error)) from None
    return function, parts[2], parts[3] if len(parts) == 4 else None


def _moment(answer: Mapping[str, Any]) -> tuple[int, int]:
    return answer["checkpoint"], answer["timestamp"]


def _shown(name: str, value: TypedValue) -> FunctionState:
    from millrace.statefun.function_state_client import value_text

    return FunctionState(
        name, value.typename, value_text(value), base64.b64encode(value.value).decode()
    )


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/functions/{functionpath}",
        get_states,
        "States of an address of Stateful Functions: namespace/name/id, or one of them: "
        "namespace/name/id/state",
        AddressStates,
        query=(
            QueryParameter(
                "functions",
                description="name that the builder of the functions was given, if the job is a "
                "program",
            ),
        ),
        ends_in_path=True,
    ),
)
