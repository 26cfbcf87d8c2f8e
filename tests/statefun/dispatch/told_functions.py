"""Functions whose messages tell them what to do."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.invocation.batch import (
    CallAttempt,
    DelayedMessage,
    Effects,
    MessageBatch,
    MissingStates,
    Reply,
    RoutableMessage,
    StateSpec,
    plain_value,
)

OUT = FunctionType("test", "out")
COUNT = "test/count"


class Told:
    """Functions whose messages are programs: tuples of instructions, in Python's notation."""

    def __init__(self, direct: bool, max_batch: int = 3, specs: tuple[StateSpec, ...] = ()) -> None:
        self._direct = direct
        self.wanted = specs or (StateSpec("count", COUNT),)
        self.missing: set[str] = set()
        """Names of states for which the functions ask if a request lacks them."""
        self.max_batch = max_batch
        self.max_bytes = None
        self.attempts: deque[CallAttempt] = deque()

    def place(self, function: FunctionType) -> str:
        return "test"

    def is_direct(self, function: FunctionType) -> bool:
        return self._direct

    def specs(self, function: FunctionType) -> tuple[StateSpec, ...]:
        return ()

    def retire(self) -> None:
        pass

    def close(self) -> None:
        pass

    def invoke_now(self, batch: MessageBatch) -> Reply:
        if not batch.states or self.missing - batch.states.keys():
            return MissingStates(self.wanted)
        effects = Effects()
        stored = batch.states["count"]
        count = int(stored.value) if stored.has_value else 0
        for _, given, _ in batch.messages:
            for instruction in eval(plain_value(given)[2]):
                count = self._carry_out(instruction, count, batch.target, effects)
        return effects

    def _carry_out(self, instruction: Any, count: int, target: Address, effects: Effects) -> int:
        match instruction:
            case ("add", by):
                count += by
                effects.mutations["count"] = TypedValue(COUNT, True, b"%d" % count)
            case ("delete",):
                count = 0
                effects.mutations["count"] = None
            case ("send", to, program):
                effects.messages.append(RoutableMessage(address(to), argument(program), target))
            case ("later", ms, token, to, program):
                sent = RoutableMessage(address(to), argument(program), target)
                effects.delayed.append(DelayedMessage(sent, ms, token))
            case ("cancel", token):
                effects.delayed.append(DelayedMessage(None, 0, token))
            case ("out",):
                text = f"{target.id}={count}"
                effects.egresses.append((OUT, TypedValue(COUNT, True, text.encode())))
            case ("set", name, typename):
                effects.mutations[name] = TypedValue(typename, True, b"1")
        return count

    async def invoke(self, batch: MessageBatch) -> Reply:
        await asyncio.sleep(0)
        return self.invoke_now(batch)


def address(id: str) -> Address:
    return Address("test", "told", id)


def argument(program: Any) -> TypedValue:
    return TypedValue("test/program", True, repr(program).encode())


def message(id: str, *program: Any) -> RoutableMessage:
    return RoutableMessage(address(id), argument(program))
