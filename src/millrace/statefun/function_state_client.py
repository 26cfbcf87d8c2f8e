"""States of one address in a running job, from its queryable state."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from millrace.common.errors import SerializationError
from millrace.rest.client import QueryableStateClient, QueryableStateError
from millrace.statefun.address import FunctionType, TypedValue
from millrace.statefun.dispatch.dispatch_operator import QUERYABLE_STATES
from millrace.statefun.endpoint_update import MODULE_NAME, operator_uid
from millrace.statefun.types import decoded

__all__ = ["FunctionStateClient", "states_path", "states_within", "value_text"]


class FunctionStateClient:
    """Looks up states of functions in a job that runs with ``rest.enabled=true``. Answers come from
    the newest complete checkpoint.

    Args:
        client: client of the job's queryable state.
        functions: name that the builder of the functions was given.

    Example: the states of an address::

        client = FunctionStateClient.of_job("/data/checkpoints", "shop")
        {name: decoded(value) for name, value in client.get("com.example/cart", "Ada").items()}
    """

    def __init__(self, client: QueryableStateClient, functions: str = MODULE_NAME) -> None:
        self._client = client
        self._operator = operator_uid(functions)

    @staticmethod
    def of_job(
        directory: str | os.PathLike[str],
        job_name: str | None = None,
        functions: str = MODULE_NAME,
        wait: float = 0.0,
    ) -> FunctionStateClient:
        """A client of a job on this machine.

        Args:
            directory: directory of the job, or of checkpoints with the job's name.
            functions: name that the builder of the functions was given.
            wait: seconds to wait until the job has started and its state can be queried.

        Raises:
            StateError: the job does not run, or has no endpoint.
            QueryableStateError: the job's state is still being loaded after ``wait`` seconds.
        """
        client = QueryableStateClient.of_job(directory, job_name, wait=wait)
        return FunctionStateClient(client, functions)

    def get(self, typename: str, id: str) -> dict[str, TypedValue]:
        """States of an address by name; empty if the address has none. Expired states may be among
        them until the job deletes them.

        Args:
            typename: type of the function, such as ``com.example/greeter``.

        Raises:
            JobDefinitionError: the type name has no namespace.
            QueryableStateError: the job has no such functions, its state is still being loaded, or
                nobody answers.
        """
        function = FunctionType.of(typename)
        try:
            value = self._client.get(self._operator, QUERYABLE_STATES, id)
        except QueryableStateError as error:
            if error.unknown == "key":
                return {}
            raise
        return states_within(value, function)


def states_path(functions: str, id: str) -> str:
    """Path of the states of an id, below the states of a job in the REST API. The query is
    ``json=1``."""
    return f"{operator_uid(functions)}/{QUERYABLE_STATES}/{quote(json.dumps(id), safe='')}"


def states_within(value: Mapping[str, Any], function: FunctionType) -> dict[str, TypedValue]:
    """States of a function by name, from an answer of the REST API with the states of all functions
    of an id.
    """
    return {
        name: TypedValue(typename, True, base64.b64decode(content["bytes"]))
        for (owner, name), (typename, content, _) in value["map"]
        if owner == str(function)
    }


def value_text(value: TypedValue) -> str:
    """Text of a value for people, for a built-in type; for other types, text of its bytes."""
    try:
        shown = decoded(value)
    except SerializationError:
        shown = value.value
    if isinstance(shown, bytes):
        try:
            return shown.decode()
        except UnicodeDecodeError:
            return repr(shown)
    return str(shown)
