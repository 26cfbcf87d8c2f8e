"""Metrics of functions under the names of Flink's Stateful Functions (its docs, "Metrics").

Counters are changed once per invocation. What would cost more per message, such as the backlog, is
looked up once per second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.runtime.metrics import CounterRate, EventCounter, MetricRegistry, RecentValues
from millrace.statefun.address import Address
from millrace.statefun.dispatch.function_states import FunctionStates
from millrace.statefun.dispatch.mailboxes import Mailboxes
from millrace.statefun.invocation.batch import InvocationError, Invoker, MessageBatch

__all__ = ["DispatchMetrics", "FunctionMetrics"]

_LOOK_MS = 1_000
"""Milliseconds between two looks at mailboxes and states."""
GROUP = "function"
"""Group of the metrics in the names of reporters that have labels."""


class FunctionMetrics:
    """Figures of one function type in a subtask.

    Attributes:
        incoming: messages that the function has handled.
        out_local, out_remote: messages to functions of this and of other subtasks.
        failures: failed attempts to call the function's endpoint.
        max_batch: most messages of an invocation.
        latency: milliseconds of attempts to call the endpoint, or of invocations in the worker.
    """

    def __init__(
        self, registry: MetricRegistry, target: Address, find: Callable[[Address], Invoker]
    ) -> None:
        function, invoker = target.function_type, _found(find, target)
        self._registry = registry
        self._function = function
        self._find = find
        self._target = target
        self.max_batch = 1
        self.look_up_limits()
        self.incoming = self._metered("in")
        self.out_local = self._metered("outLocal")
        self.out_remote = self._metered("outRemote")
        self.out_egress = self._metered("outEgress")
        self.failures = self._metered("remoteInvocationFailures")
        is_direct = invoker is not None and invoker.is_direct(function)
        name = "invocationLatency" if is_direct else "remoteInvocationLatency"
        self.latency: RecentValues = self._register(name, RecentValues())
        self.in_flight = self.backlog = self.blocked = self.addresses = self.state_bytes = 0
        self._register("inflightAsyncOps", lambda: self.in_flight)
        self._register("numBacklog", lambda: self.backlog)
        self._register("numBlockedAddress", lambda: self.blocked)
        self._register("numAddresses", lambda: self.addresses)
        self._register("stateSize", lambda: self.state_bytes)
        self._register("endpoint", lambda: _place(find, target))

    def look_up_limits(self) -> None:
        """Ask the invoker for its limits, which an update of the endpoints may change."""
        invoker = _found(self._find, self._target)
        self.max_batch = 1 if invoker is None else invoker.max_batch

    def _metered(self, name: str) -> EventCounter:
        counter: EventCounter = self._register(name, EventCounter())
        self._register(f"{name}Rate", CounterRate(counter))
        return counter

    def _register(self, name: str, metric: Any) -> Any:
        namespace, function = self._function
        variables = {"<function_namespace>": namespace, "<function_name>": function}
        # the last dot divides the two, so that no two functions have one path
        quoted = function.replace("%", "%25").replace(".", "%2E")
        path = f"{namespace}.{quoted}.{name}"
        return self._registry.register(path, metric, f"{GROUP}.{name}", variables)

    def sent(self, local: int, remote: int, to_egress: int) -> None:
        """Count the messages and egress records that an invocation has sent."""
        self.out_local.count += local
        self.out_remote.count += remote
        self.out_egress.count += to_egress


def _found(find: Callable[[Address], Invoker], target: Address) -> Invoker | None:
    """Invoker of a function; None if its endpoint has been taken away."""
    try:
        return find(target)
    except InvocationError:
        return None


def _place(find: Callable[[Address], Invoker], target: Address) -> str:
    """Endpoint of a function, which may change while the job runs."""
    invoker = _found(find, target)
    return "" if invoker is None else invoker.place(target.function_type)


class DispatchMetrics:
    """Figures of the functions of a subtask.

    Args:
        invoker: function that returns the invoker of an address.
        clock: time in ms since 1970.
    """

    def __init__(
        self,
        registry: MetricRegistry,
        invoker: Callable[[Address], Invoker],
        clock: Callable[[], int],
    ) -> None:
        self._registry = registry
        self._invoker = invoker
        self._clock = clock
        self._functions: dict[tuple[str, ...], FunctionMetrics] = {}
        """Figures by namespace and name."""
        self._looked = -_LOOK_MS
        self._in_flight = 0
        self.fed_back = EventCounter()
        """Messages that functions have sent, as they arrive."""
        registry.register("feedback.produced", self.fed_back, "feedback.produced", {})
        rate = CounterRate(self.fed_back)
        registry.register("feedback.producedRate", rate, "feedback.producedRate", {})
        registry.register("inflightAsyncOps", lambda: self._in_flight, "inflightAsyncOps", {})

    def of(self, target: Address) -> FunctionMetrics:
        """The figures for the function of an address."""
        metrics = self._functions.get(target[:2])
        if metrics is None:
            metrics = FunctionMetrics(self._registry, target, self._invoker)
            self._functions[target[:2]] = metrics
        return metrics

    def take_attempts(self, invokers: Iterable[Invoker]) -> None:
        """Count the calls of endpoints that have ended since the last call."""
        for invoker in invokers:
            attempts = invoker.attempts
            while attempts:
                target, milliseconds, has_failed = attempts.popleft()
                metrics = self.of(target)
                metrics.latency.update(milliseconds)
                metrics.failures.count += has_failed

    def look(
        self, mailboxes: Mailboxes, in_flight: Iterable[MessageBatch], states: FunctionStates
    ) -> None:
        """Measure waiting messages, batches in flight and states, at most once per second."""
        now = self._clock()
        if now - self._looked < _LOOK_MS:
            return
        self._looked = now
        self._in_flight = 0
        for metrics in self._functions.values():
            metrics.look_up_limits()
            metrics.in_flight = metrics.backlog = metrics.blocked = 0
            metrics.addresses = metrics.state_bytes = 0  # functions without state are not estimated
        for batch in in_flight:
            self._in_flight += 1
            self.of(batch.target).in_flight += 1
        for target, waiting in mailboxes.backlogs():
            metrics = self.of(Address(*target))
            metrics.backlog += waiting
            metrics.blocked += waiting >= metrics.max_batch
        for function, (addresses, size) in states.estimated_sizes().items():
            if function in self._functions:
                metrics = self._functions[function]
                metrics.addresses, metrics.state_bytes = addresses, size
