"""Functions behind an endpoint, invoked over HTTP with retries within a budget of time."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from contextlib import suppress
from time import perf_counter
from typing import Any

from millrace.statefun.address import FunctionType
from millrace.statefun.invocation.batch import (
    CallAttempt,
    EndpointMoved,
    InvocationError,
    MessageBatch,
    Reply,
    StateSpec,
)
from millrace.statefun.invocation.certificates import CertificateFault
from millrace.statefun.invocation.http_connection import (
    ConnectionPool,
    HttpReply,
    ReplyTooLarge,
)
from millrace.statefun.invocation.wire import MalformedReply, read_reply, request_bytes
from millrace.statefun.module.components import HttpEndpoint

__all__ = ["RemoteFunctions"]

_RETRIED = frozenset({408, 409, 420, 429, 499})
_CONTENT_TYPE = "application/octet-stream"
_FATAL = ReplyTooLarge, MalformedReply, CertificateFault, ssl.SSLCertVerificationError


class _Refused(Exception):
    """A reply that is no success."""

    def __init__(self, message: str, is_retried: bool) -> None:
        super().__init__(message)
        self.is_retried = is_retried


class RemoteFunctions:
    """Invoker of the functions behind an endpoint."""

    def __init__(self, endpoint: HttpEndpoint) -> None:
        self.endpoint = endpoint
        self.max_batch = endpoint.max_num_batch_requests
        # the rest is for addresses and names
        self.max_bytes: int | None = endpoint.transport.payload_max_bytes * 15 // 16
        self.attempts: deque[CallAttempt] = deque()
        self._pool: ConnectionPool | None = None
        self._in_flight = 0
        self._is_retired = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._retired: asyncio.Event | None = None
        """Set on the event loop when the endpoint is retired; ends the pauses between attempts."""

    def __getstate__(self) -> dict[str, Any]:
        return {"endpoint": self.endpoint}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["endpoint"])  # type: ignore[misc]

    def is_direct(self, function: FunctionType) -> bool:
        return False

    def place(self, function: FunctionType) -> str:
        return self.endpoint.url(function)

    def specs(self, function: FunctionType) -> tuple[StateSpec, ...]:
        return ()  # a reply names them

    def invoke_now(self, batch: MessageBatch) -> Reply:
        raise NotImplementedError("remote functions are invoked on an event loop")

    async def invoke(self, batch: MessageBatch) -> Reply:
        """Invoke a function. Failed attempts are repeated until the budget of the call is spent.

        Raises:
            InvocationError: the budget is spent, or repeating cannot help.
            EndpointMoved: an attempt has failed, and the endpoint is retired.
        """
        if self._pool is None:
            self._loop, self._retired = asyncio.get_running_loop(), asyncio.Event()
            self._pool = ConnectionPool(self.endpoint.transport, self.endpoint.authorization)
        self._in_flight += 1
        try:
            return await self._attempts(batch, self._pool)
        except InvocationError:
            if self._is_retired:
                raise EndpointMoved from None
            raise
        finally:
            self._in_flight -= 1
            self._close_if_retired()

    async def _attempts(self, batch: MessageBatch, pool: ConnectionPool) -> Reply:
        transport = self.endpoint.transport
        url = self.endpoint.url(batch.target.function_type)
        request = request_bytes(batch)
        if len(request) > transport.payload_max_bytes:
            reason = f"the request has {len(request)} bytes (payload_max_bytes)"
            raise _failed(batch, url, reason)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + transport.call_ms / 1000
        pause, attempts, last = transport.first_backoff_ms / 1000, 0, "there was no answer"
        while True:
            attempts += 1
            began, has_failed = perf_counter(), True
            try:
                async with asyncio.timeout_at(deadline):
                    reply = self._reply(batch, await pool.post(url, request))
                has_failed = False
                return reply
            except _FATAL as error:
                raise _failed(batch, url, str(error)) from None
            except _Refused as error:
                last = str(error)
                if not error.is_retried:
                    raise _failed(batch, url, last) from None
            except (OSError, ValueError) as error:  # a TimeoutError is an OSError
                last = str(error) or last
            finally:
                taken = (perf_counter() - began) * 1000
                self.attempts.append(CallAttempt(batch.target, taken, has_failed))
            remaining = deadline - loop.time()
            if remaining <= 0 or self._is_retired:
                spent = f"{attempts} attempts in {transport.call_ms} ms failed, the last: {last}"
                raise _failed(batch, url, spent)
            await self._pause(min(pause, remaining))
            pause *= 2

    async def _pause(self, seconds: float) -> None:
        """Wait for the next attempt, or until the endpoint is retired."""
        assert self._retired is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._retired.wait()

    def retire(self) -> None:
        """Note that other endpoints have taken over. Requests in flight end here; what fails goes
        to the other endpoints. Called in any thread."""
        self._is_retired = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the event loop has ended before
                self._loop.call_soon_threadsafe(self._note_retired)

    @property
    def has_ended(self) -> bool:
        """Whether the endpoint is retired, and nothing is in flight there."""
        return self._is_retired and not self._in_flight

    def _note_retired(self) -> None:
        assert self._retired is not None
        self._retired.set()
        self._close_if_retired()

    def _close_if_retired(self) -> None:
        if self.has_ended:
            self.close()

    def _reply(self, batch: MessageBatch, reply: HttpReply) -> Reply:
        retries_all = self.endpoint.transport.retries_all
        if not 200 <= reply.status < 300:
            is_retried = retries_all or reply.status in _RETRIED or reply.status >= 500
            raise _Refused(f"it answered with status {reply.status}", is_retried)
        if reply.content_type.partition(";")[0].strip().lower() != _CONTENT_TYPE:
            message = f"it answered with content type {reply.content_type[:100]!r}"
            raise _Refused(f"{message} instead of {_CONTENT_TYPE}", retries_all)
        return read_reply(reply.body, batch.target)

    def close(self) -> None:
        """Close the connections. Called on the event loop."""
        if self._pool is not None:
            self._pool.close()


def _failed(batch: MessageBatch, url: str, reason: str) -> InvocationError:
    count = len(batch.messages)
    messages = "1 message" if count == 1 else f"{count} messages"
    return InvocationError(f"function {batch.target} at {url} failed for {messages}: {reason}")
