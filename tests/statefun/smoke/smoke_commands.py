"""Random commands of the smoke test, and what they lead to."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Step = dict[str, Any]
MOST_DEPTH = 3
HOUR_MS = 3_600_000


class Command(NamedTuple):
    """A message of the ingress: the id of the function, and its bytes."""

    id: str
    content: bytes


@dataclass
class Model:
    """States of all functions and texts of the egress, when all commands have been carried out."""

    count: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    last: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)

    def receive(self, id: str, steps: Sequence[Step], caller: str | None = None) -> None:
        """A message. The order of messages does not matter to what is left in the end."""
        self.seen[id] += 1
        self._carry_out(id, steps, caller)

    def _carry_out(self, id: str, steps: Sequence[Step], caller: str | None) -> None:
        cancelled = {step["token"] for step in steps if step["do"] == "cancel"}
        for step in steps:
            match step["do"]:
                case "add":
                    self.count[id] += step["by"]
                case "tell":
                    self.told[step["text"]] += 1
                case "wait":
                    self._carry_out(id, step["steps"], caller)
                case "send":
                    self.receive(step["to"], step["steps"], id)
                case "reply" if caller is not None:
                    self.receive(caller, step["steps"], id)
                case "later" if step["after"] < HOUR_MS and step.get("token") not in cancelled:
                    self.receive(step["to"], step["steps"], id)

    def state(self, id: str) -> tuple[int, int, int]:
        """Values of the states ``count``, ``seen`` and ``last``."""
        return self.count[id], self.seen[id], self.last[id]


class Commands:
    """Draws commands.

    A delayed message is cancelled in the invocation that sends it, or it would come in an hour, and
    a later command to the same function cancels it. Functions have commands in their order, so it
    never comes.

    Args:
        functions: number of functions.
    """

    def __init__(self, seed: int, functions: int) -> None:
        self._rng = random.Random(seed)
        self.ids = [f"f-{number}" for number in range(functions)]
        self.model = Model()
        self._tokens = 0
        self._pending: defaultdict[str, list[str]] = defaultdict(list)
        """Tokens of messages that would come in an hour, by their sender."""

    def draw(self, count: int) -> Iterator[Command]:
        """Random commands."""
        for _ in range(count):
            id = self._rng.choice(self.ids)
            yield self._command(id, [*self._steps(MOST_DEPTH), *self._held(id)])

    def last(self) -> Iterator[Command]:
        """Commands that cancel what would come in an hour."""
        for id, tokens in self._pending.items():
            yield self._command(id, [{"do": "cancel", "token": token} for token in tokens])
        self._pending.clear()

    def reports(self) -> Iterator[Command]:
        """A command per function to tell its states."""
        for id in self.ids:
            yield self._command(id, [{"do": "report"}])

    def _command(self, id: str, steps: list[Step]) -> Command:
        self.model.last[id] += 1
        self.model.receive(id, steps)
        message = {"n": self.model.last[id], "steps": steps}
        return Command(id, json.dumps(message).encode())

    def _held(self, id: str) -> list[Step]:
        """Now and then, a message that would come in an hour, or the cancellation of one."""
        tokens = self._pending[id]
        if tokens and self._rng.random() < 0.1:
            return [{"do": "cancel", "token": tokens.pop(self._rng.randrange(len(tokens)))}]
        if self._rng.random() < 0.05:
            tokens.append(self._token())
            return [self._later(HOUR_MS, tokens[-1], [{"do": "tell", "text": "cancelled"}])]
        return []

    def _token(self) -> str:
        self._tokens += 1
        return f"t-{self._tokens}"

    def _later(self, after: int, token: str | None, steps: list[Step]) -> Step:
        step = {"do": "later", "to": self._rng.choice(self.ids), "after": after, "steps": steps}
        return step if token is None else {**step, "token": token}

    def _steps(self, depth: int) -> list[Step]:
        steps = []
        for _ in range(self._rng.randint(1, 3)):
            steps += self._step(depth)
        return steps

    def _step(self, depth: int) -> list[Step]:
        rng = self._rng
        kinds = ("add", "tell") if depth == 0 else ("add", "tell", "send", "reply", "later", "wait")
        match rng.choices(kinds, (6, 2, 4, 1, 2, 1)[: len(kinds)])[0]:
            case "add":
                return [{"do": "add", "by": rng.randint(-100, 1000)}]
            case "tell":
                return [{"do": "tell", "text": f"text {rng.randrange(1000)}"}]
            case "later" if rng.random() < 0.3:
                token = self._token()
                unwanted = [{"do": "tell", "text": "cancelled at once"}]
                return [self._later(200, token, unwanted), {"do": "cancel", "token": token}]
            case "later":
                token = self._token() if rng.random() < 0.5 else None
                return [self._later(rng.randint(0, 300), token, self._steps(depth - 1))]
            case "send":
                return [{"do": "send", "to": rng.choice(self.ids), "steps": self._steps(depth - 1)}]
            case "wait":
                return [{"do": "wait", "ms": rng.randint(0, 2), "steps": self._steps(depth - 1)}]
            case kind:
                return [{"do": kind, "steps": self._steps(depth - 1)}]
