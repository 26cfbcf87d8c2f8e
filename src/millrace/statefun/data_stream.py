"""Functions between streams: streams give messages, and egresses are streams (Flink docs,
"DataStream Integration")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from millrace.common.config import options
from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.typeinfo import Types
from millrace.datastream.stream import DataStream
from millrace.statefun.address import Address, FunctionType, TypedValue, split_typename
from millrace.statefun.dispatch.dispatch_operator import (
    DispatchOperator,
    DispatchSpec,
    egress_tag,
)
from millrace.statefun.dispatch.function_repository import Functions
from millrace.statefun.endpoint_update import operator_uid
from millrace.statefun.invocation.batch import (
    Invoker,
    PlainMessage,
    RoutableMessage,
    plain,
)
from millrace.statefun.invocation.embedded import EmbeddedFunctions
from millrace.statefun.invocation.remote import RemoteFunctions
from millrace.statefun.module.components import HttpEndpoint, Transport

__all__ = [
    "RequestReplyFunctionBuilder",
    "StatefulFunctionDataStreamBuilder",
    "StatefulFunctionEgressStreams",
    "routable_message",
]


def routable_message(typename: str, id: str, argument: TypedValue) -> RoutableMessage:
    """A message to a function from outside the job.

    Raises:
        JobDefinitionError: the type name has no namespace.

    Example:
        >>> from millrace.statefun.types import STRING, typed
        >>> str(routable_message("com.example/greeter", "Ada", typed(STRING, "hello")).target)
        'com.example/greeter/Ada'
    """
    return RoutableMessage(Address(*split_typename(typename), id), argument)


class RequestReplyFunctionBuilder:
    """Specification of remote functions. Flink: ``RequestReplyFunctionBuilder``.

    Args:
        typename: ``namespace/name`` of a function, or ``namespace/*``.
        endpoint: URL, in which ``{function.name}`` stands for the function's name.
    """

    def __init__(self, typename: str, endpoint: str) -> None:
        self._names = split_typename(typename)
        self._url = endpoint
        self._max_batch = 1000
        self._transport = Transport()

    @staticmethod
    def request_reply_function_builder(typename: str, endpoint: str) -> RequestReplyFunctionBuilder:
        """A builder. Flink: ``requestReplyFunctionBuilder``."""
        return RequestReplyFunctionBuilder(typename, endpoint)

    def with_max_num_batch_requests(self, requests: int) -> RequestReplyFunctionBuilder:
        """Set the maximum number of messages per request.

        Raises:
            JobDefinitionError: the number is not positive.
        """
        if requests < 1:
            raise JobDefinitionError(f"a request has at least 1 message, got {requests}")
        self._max_batch = requests
        return self

    def with_max_request_duration(
        self, duration: Duration | Time | int
    ) -> RequestReplyFunctionBuilder:
        """Set the time limit of a request including its retries."""
        return self._with_limit(call_ms=millis(duration))

    def with_connect_timeout(self, duration: Duration | Time | int) -> RequestReplyFunctionBuilder:
        """Set the time limit of a connection attempt."""
        return self._with_limit(connect_ms=millis(duration))

    def with_read_timeout(self, duration: Duration | Time | int) -> RequestReplyFunctionBuilder:
        """Set the read timeout: an attempt fails if no byte of the reply arrives within this
        time."""
        return self._with_limit(read_ms=millis(duration))

    def with_write_timeout(self, duration: Duration | Time | int) -> RequestReplyFunctionBuilder:
        """Set the write timeout: an attempt fails if no byte of the request can be sent within
        this time."""
        return self._with_limit(write_ms=millis(duration))

    def _with_limit(self, **milliseconds: Any) -> RequestReplyFunctionBuilder:
        return self.with_transport(replace(self._transport, **milliseconds))

    def with_transport(self, transport: Transport) -> RequestReplyFunctionBuilder:
        """Set time limits, connections and certificates."""
        self._transport = transport
        return self

    def build(self) -> HttpEndpoint:
        """The endpoint."""
        return HttpEndpoint(*self._names, self._url, self._max_batch, self._transport)


class StatefulFunctionEgressStreams:
    """Streams of egresses. Flink: ``StatefulFunctionEgressStreams``."""

    def __init__(self, dispatched: DataStream[Any], egresses: tuple[FunctionType, ...]) -> None:
        self._dispatched = dispatched
        self._egresses = egresses

    def get_data_stream_for_egress_id(self, egress: str) -> DataStream[Any]:
        """Values that functions write to an egress, converted by the egress' ``convert`` if it has
        one. `millrace.statefun.types.decoded` makes Python values of the built-in types.

        Raises:
            JobDefinitionError: the builder was not told of the egress.
        """
        id = FunctionType.of(egress)
        if id not in self._egresses:
            known = ", ".join(map(str, self._egresses)) or "none"
            raise JobDefinitionError(
                f"there is no egress {id}, known are: {known}; name it with with_egress_id()"
            )
        return self._dispatched.get_side_output(egress_tag(id))


class StatefulFunctionDataStreamBuilder:
    """Builds functions into a job. Flink: ``StatefulFunctionDataStreamBuilder``.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> from millrace.statefun.types import STRING, typed
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> names = env.from_collection(["Ada", "Grace"]).map(
        ...     lambda name: routable_message("com.example/greeter", name, typed(STRING, name))
        ... )
        >>> egresses = (
        ...     StatefulFunctionDataStreamBuilder.builder("greetings")
        ...     .with_data_stream_as_ingress(names)
        ...     .with_request_reply_remote_function(
        ...         RequestReplyFunctionBuilder("com.example/*", "http://localhost:8000").build()
        ...     )
        ...     .with_egress_id("com.example/greetings")
        ...     .build(env)
        ... )
        >>> greetings = egresses.get_data_stream_for_egress_id("com.example/greetings")
    """

    def __init__(self, pipeline_name: str) -> None:
        self._name = pipeline_name
        self._ingresses: list[DataStream[RoutableMessage]] = []
        self._functions: list[tuple[str, str, Invoker]] = []
        self._egresses: dict[FunctionType, Callable[[TypedValue], Any] | None] = {}
        self._max_in_flight: int | None = None

    @staticmethod
    def builder(pipeline_name: str) -> StatefulFunctionDataStreamBuilder:
        """A builder. The name is part of the operator's uid."""
        return StatefulFunctionDataStreamBuilder(pipeline_name)

    def with_data_stream_as_ingress(
        self, ingress: DataStream[RoutableMessage]
    ) -> StatefulFunctionDataStreamBuilder:
        """Send the messages of a stream to functions."""
        if not isinstance(ingress, DataStream):
            raise JobDefinitionError(f"an ingress is a DataStream of messages, got {ingress!r}")
        self._ingresses.append(ingress)
        return self

    def with_request_reply_remote_function(
        self, endpoint: HttpEndpoint | RequestReplyFunctionBuilder
    ) -> StatefulFunctionDataStreamBuilder:
        """Call functions over HTTP."""
        if isinstance(endpoint, RequestReplyFunctionBuilder):
            endpoint = endpoint.build()
        return self._with(endpoint.namespace, endpoint.name, RemoteFunctions(endpoint))

    def with_function_provider(
        self, typename: str, functions: Any, max_num_batch_requests: int = 1000
    ) -> StatefulFunctionDataStreamBuilder:
        """Run functions in the workers.

        Args:
            typename: ``namespace/name`` of a function, or ``namespace/*``.
            functions: ``StatefulFunctions`` of Flink's Python SDK.
            max_num_batch_requests: most messages of an invocation.
        """
        invoker = EmbeddedFunctions(functions, max_num_batch_requests)
        return self._with(*split_typename(typename), invoker)

    def _with(
        self, namespace: str, name: str, invoker: Invoker
    ) -> StatefulFunctionDataStreamBuilder:
        if any(known[:2] == (namespace, name) for known in self._functions):
            raise JobDefinitionError(f"functions {namespace}/{name} are defined twice")
        self._functions.append((namespace, name, invoker))
        return self

    def with_egress_id(
        self, egress: str, convert: Callable[[TypedValue], Any] | None = None
    ) -> StatefulFunctionDataStreamBuilder:
        """Name an egress, to which functions may write.

        Args:
            convert: makes a record of each value, such as `millrace.statefun.types.decoded`. A
                ``SerializationError`` that it raises fails the job, with the function that wrote
                the value. None to leave the values as they are.
        """
        id = FunctionType.of(egress)
        if id in self._egresses:
            raise JobDefinitionError(f"the egress {id} is named twice")
        self._egresses[id] = convert
        return self

    def with_max_async_per_task(self, batches: int) -> StatefulFunctionDataStreamBuilder:
        """Set the maximum number of batches in flight per subtask; overrides
        ``statefun.async.max-per-task``.
        """
        if batches < 1:
            raise JobDefinitionError(f"at least 1 batch must be in flight, got {batches}")
        self._max_in_flight = batches
        return self

    def build(self, env: Any) -> StatefulFunctionEgressStreams:
        """Add the functions to the job of an environment.

        Raises:
            JobDefinitionError: there is no ingress or no function.
        """
        if not self._ingresses or not self._functions:
            raise JobDefinitionError(
                f"functions '{self._name}' need an ingress and a function: call "
                "with_data_stream_as_ingress() and with_function_provider() or "
                "with_request_reply_remote_function()"
            )
        first, *others = self._ingresses
        if first.get_execution_environment() is not env:
            raise JobDefinitionError("build() takes the environment of the ingresses")
        functions: Functions = tuple(self._functions)
        in_flight = self._max_in_flight or env._configuration.get(options.STATEFUN_MAX_ASYNC)
        converters = {id: convert for id, convert in self._egresses.items() if convert is not None}
        spec = DispatchSpec(functions, tuple(self._egresses), in_flight, converters)
        loop = _plain(first).union(*map(_plain, others)).iterate()
        keyed = loop.key_by(lambda message: message[0][2], Types.STRING())
        factory = partial(DispatchOperator, spec)
        dispatched = keyed._then(f"Functions {self._name}", factory, None)
        dispatched.uid(operator_uid(self._name))
        loop.close_with(dispatched)
        return StatefulFunctionEgressStreams(dispatched, tuple(self._egresses))


def _plain(ingress: DataStream[RoutableMessage]) -> DataStream[PlainMessage]:
    """Messages as plain tuples. Those of one subtask to one id keep their order on the way into
    the loop, whatever the parallelism of the ingress."""
    widest = max((i.transformation for i in ingress._inputs), key=lambda t: t.parallelism)
    messages = ingress.map(plain)
    if any(i.partitioning is not None for i in ingress._inputs):
        return messages  # the program distributes them
    mapping = messages._inputs[0].transformation
    mapping.parallelism = widest.parallelism
    mapping.fixed_parallelism = widest.fixed_parallelism
    parallelism = ingress.get_execution_environment().get_parallelism()
    if widest.parallelism == parallelism and not widest.fixed_parallelism:
        return messages  # forwarded, with any parallelism
    return messages.key_by(lambda message: message[0][2], Types.STRING())
