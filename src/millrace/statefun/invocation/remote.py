"""Functions of an endpoint, invoked over HTTP with retries within a time limit."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
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
LONG_SECONDS = 5.0
"""Seconds after which a call that goes on is worth a line in the log."""
TELL_SECONDS = 30.0
"""Seconds between two such lines about one endpoint."""

log = logging.getLogger(__name__)


class _Refused(Exception):
    """A reply that reports a failure of the request."""

    def __init__(self, message: str, is_retried: bool) -> None:
        super().__init__(message)
        self.is_retried = is_retried


@dataclass(slots=True, eq=False)
class _Call:
    """A call with all its attempts.

    Attributes:
        began: time of the event loop.
        attempts: number of the attempts that have begun.
        last: why the last one failed.
    """

    batch: MessageBatch
    began: float
    attempts: int = 0
    last: str = "there was no answer"

    @property
    def failed_attempts(self) -> str:
        """Number of attempts with its noun."""
        return "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"


class RemoteFunctions:
    """Invoker of the functions of an endpoint."""

    def __init__(self, endpoint: HttpEndpoint) -> None:
        self.endpoint = endpoint
        self.max_batch = endpoint.max_num_batch_requests
        # the rest is for addresses and names
        self.max_bytes: int | None = endpoint.transport.payload_max_bytes * 15 // 16
        self.attempts: deque[CallAttempt] = deque()
        self._pool: ConnectionPool | None = None
        self._calls: dict[_Call, None] = {}
        """Calls that go on, the oldest first."""
        self._look: asyncio.TimerHandle | None = None
        self._told = float("-inf")
        """Time of the event loop at which the log was last told of a long call."""
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
        loop = asyncio.get_running_loop()
        call = _Call(batch, loop.time())
        self._calls[call] = None
        if self._look is None:
            self._look = loop.call_later(LONG_SECONDS, self._tell_of_long_calls)
        try:
            return await self._attempts(call, self._pool)
        except InvocationError:
            if self._is_retired:
                raise EndpointMoved from None
            raise
        finally:
            del self._calls[call]
            self._close_if_retired()

    def _tell_of_long_calls(self) -> None:
        """Tell the log of the oldest call if it goes on for long: a wrong URL or a server that
        hangs is to be seen before the budget is spent."""
        loop, self._look = asyncio.get_running_loop(), None
        oldest = next(iter(self._calls), None)
        if oldest is None:
            return
        now = loop.time()
        waited = now - oldest.began
        if waited >= LONG_SECONDS and now - self._told >= TELL_SECONDS:
            self._told = now
            target = oldest.batch.target
            log.warning(
                "function %s at %s has not succeeded for %.0f s (%s): %s. The call is given up "
                "after %g s; calls of this endpoint that go on: %d",
                target,
                self.endpoint.url(target.function_type),
                waited,
                oldest.failed_attempts,
                oldest.last,
                self.endpoint.transport.call_ms / 1000,
                len(self._calls),
            )
        due = LONG_SECONDS - waited if waited < LONG_SECONDS else LONG_SECONDS
        self._look = loop.call_later(due, self._tell_of_long_calls)

    async def _attempts(self, call: _Call, pool: ConnectionPool) -> Reply:
        batch, transport = call.batch, self.endpoint.transport
        url = self.endpoint.url(batch.target.function_type)
        request = request_bytes(batch)
        if len(request) > transport.payload_max_bytes:
            reason = f"the request has {len(request)} bytes (payload_max_bytes)"
            raise _failed(batch, url, reason)
        loop = asyncio.get_running_loop()
        deadline = call.began + transport.call_ms / 1000
        pause = transport.first_backoff_ms / 1000
        while True:
            call.attempts += 1
            began, has_failed = perf_counter(), True
            try:
                async with asyncio.timeout_at(deadline):
                    reply = self._reply(batch, await pool.post(url, request))
                has_failed = False
                return reply
            except _FATAL as error:
                raise _failed(batch, url, str(error)) from None
            except _Refused as error:
                call.last = str(error)
                if not error.is_retried:
                    raise _failed(batch, url, call.last) from None
            except (OSError, ValueError) as error:  # a TimeoutError is an OSError
                call.last = str(error) or call.last
            finally:
                taken = (perf_counter() - began) * 1000
                self.attempts.append(CallAttempt(batch.target, taken, has_failed))
            remaining = deadline - loop.time()
            if remaining <= 0 or self._is_retired:
                spent = f"{call.failed_attempts} in {transport.call_ms} ms failed, the last: "
                spent += call.last
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
        """Record that other endpoints have taken over. Requests in flight finish here; failed
        requests are repeated at the other endpoints. Called in any thread.
        """
        self._is_retired = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the event loop has ended before
                self._loop.call_soon_threadsafe(self._note_retired)

    @property
    def has_ended(self) -> bool:
        """Whether the endpoint is retired and has no request in flight."""
        return self._is_retired and not self._calls

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
        if self._look is not None:
            self._look.cancel()
        if self._pool is not None:
            self._pool.close()


def _failed(batch: MessageBatch, url: str, reason: str) -> InvocationError:
    count = len(batch.messages)
    messages = "1 message" if count == 1 else f"{count} messages"
    return InvocationError(f"function {batch.target} at {url} failed for {messages}: {reason}")
