"""Functions of a dispatcher by name. Their endpoints can be replaced while the job runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from millrace.statefun.address import Address, FunctionType
from millrace.statefun.invocation.batch import InvocationError, Invoker
from millrace.statefun.invocation.remote import RemoteFunctions
from millrace.statefun.module.components import ANY_NAME, HttpEndpoint

__all__ = ["FunctionRepository", "Functions"]

Functions: TypeAlias = tuple[tuple[str, str, Invoker], ...]
"""Namespace, name or ``*``, and the invoker of each group of functions."""


class FunctionRepository:
    """Invokers of functions.

    Args:
        functions: functions that the job began with. Those that run in the worker stay for good.
    """

    def __init__(self, functions: Functions) -> None:
        self._invokers: dict[tuple[str, str], Invoker] = {
            (namespace, name): invoker for namespace, name, invoker in functions
        }
        self._known: dict[FunctionType, Invoker] = {}
        self._retired: list[RemoteFunctions] = []

    @property
    def endpoints(self) -> tuple[HttpEndpoint, ...]:
        """Endpoints of the remote functions."""
        invokers = self._invokers.values()
        return tuple(i.endpoint for i in invokers if isinstance(i, RemoteFunctions))

    @property
    def invokers(self) -> tuple[Invoker, ...]:
        """All invokers, including retired ones."""
        return (*self._invokers.values(), *self._retired)

    def invoker(self, target: Address) -> Invoker:
        """Invoker of a function. An invoker for the function's name takes precedence over one for
        its namespace.

        Raises:
            InvocationError: there is none, or its URL cannot have the function's name.
        """
        function = target.function_type
        invoker = self._known.get(function)
        if invoker is None:
            for name in (function.name, ANY_NAME):
                invoker = invoker or self._invokers.get((function.namespace, name))
            if invoker is None:
                names = ", ".join(f"{namespace}/{name}" for namespace, name in self._invokers)
                raise InvocationError(
                    f"a message to {target} has no function: there is no endpoint or provider of "
                    f"{function}, only of {names or 'none'}"
                )
            if isinstance(invoker, RemoteFunctions) and not invoker.endpoint.can_name(function):
                raise InvocationError(
                    f"a message to {target} has no function: the path of a URL cannot have the "
                    f"name {function.name!r} ({invoker.endpoint.shown_template})"
                )
            self._known[function] = invoker
        return invoker

    def replace_endpoints(self, endpoints: Iterable[HttpEndpoint]) -> None:
        """Replace the endpoints. An unchanged endpoint keeps its connections; removed ones finish
        their requests in flight.
        """
        former = {
            key: invoker
            for key, invoker in self._invokers.items()
            if isinstance(invoker, RemoteFunctions)
        }
        for key in former:
            del self._invokers[key]
        self._known.clear()
        for endpoint in endpoints:
            key = endpoint.namespace, endpoint.name
            if key in self._invokers:
                continue  # it runs in the worker
            stays = former.get(key)
            if stays is not None and stays.endpoint == endpoint:
                self._invokers[key] = former.pop(key)
            else:
                self._invokers[key] = RemoteFunctions(endpoint)
        self._retired = [invoker for invoker in self._retired if not invoker.has_ended]
        for invoker in former.values():
            invoker.retire()
            self._retired.append(invoker)

    def close(self) -> None:
        """Release the connections of all invokers, including retired ones."""
        for invoker in self.invokers:
            invoker.close()
