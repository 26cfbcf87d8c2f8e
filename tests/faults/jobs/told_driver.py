"""A driver in a process of its own, and what it tells about its epochs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

PATIENCE = 300.0
"""Seconds that anything may take on a busy machine."""


class ToldDriver:
    """Runs a program that prints a line of JSON after each epoch.

    Args:
        command: the program and its arguments.
        directory: for its output and its log, to which other drivers may have written.
        environment: variables of the process.
    """

    def __init__(
        self, command: Sequence[str], directory: Path, environment: Mapping[str, str]
    ) -> None:
        self.out = directory / "epochs.json"
        self.err = directory / "driver.log"
        self.process = psutil.Popen(
            list(command),
            env=dict(environment),
            stdout=self.out.open("wb"),
            stderr=self.err.open("ab"),
        )

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it told so far, an epoch per line."""
        told = self.out.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in told if line.endswith("\n")]

    def wait_for(self, happened: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert self.process.poll() is None, f"ended before {what}:\n{self.tail()}"
            assert time.monotonic() < deadline, f"no {what}:\n{self.tail()}"
            time.sleep(0.02)

    def wait_for_epochs(self, more: int) -> None:
        goal = len(self.lines) + more
        self.wait_for(lambda: len(self.lines) >= goal, f"{more} more epochs")

    def wait(self) -> int:
        return int(self.process.wait(PATIENCE))

    def descendants(self) -> list[psutil.Process]:
        """Processes that it has started, and those that they have started."""
        with suppress(psutil.NoSuchProcess):
            return list(self.process.children(recursive=True))
        return []

    def tail(self) -> str:
        return self.err.read_text()[-6000:]

    def close(self) -> None:
        with suppress(psutil.NoSuchProcess):
            children = self.process.children(recursive=True)
            self.process.kill()
            psutil.wait_procs([self.process], timeout=10)
            _, left = psutil.wait_procs(children, timeout=20)
            for process in left:
                process.kill()
