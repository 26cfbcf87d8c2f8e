"""Tests that act on running jobs do not depend on the speed of the machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
STARTS = {"execute_async", "execute_and_collect"}


def late_listeners(program: str) -> Iterator[str]:
    """Listeners that compare the number of an epoch for equality, and are added when the job may
    have passed that epoch."""
    for function in ast.walk(ast.parse(program)):
        if isinstance(function, ast.FunctionDef):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            starts = [node.lineno for node in calls if name_of(node.func) in STARTS]
            text = ast.unparse(function)
            compares = ".epochs ==" in text or ".epochs in" in text
            lines = [n.lineno for n in calls if ast.unparse(n.func).endswith(".listeners.append")]
            for line in lines if compares else []:
                if any(start < line for start in starts):
                    yield f"{function.name}, line {line}"


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else ""


def burnt_time(program: str) -> Iterator[str]:
    """Statements that only take time, so that a job should last."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("sum(range("):
            yield f"line {node.lineno}"


LATE = """
def test():
    client = env.execute_async()
    cluster.listeners.append(lambda details: details.epochs == 3 and client.stop())
"""
EARLY = """
def test():
    cluster.listeners.append(lambda details: details.epochs == 3 and started.result().stop())
    started.set_result(env.execute_async())
"""


@pytest.mark.parametrize(("program", "expected"), [(LATE, ["test, line 4"]), (EARLY, [])])
def test_late_listeners_are_found(program: str, expected: list[str]) -> None:
    assert list(late_listeners(program)) == expected


def test_listeners_are_there_before_their_job_starts() -> None:
    found = []
    for path in TESTS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if ".listeners.append" in text and path != Path(__file__):
            found += [f"{path.relative_to(TESTS)}: {place}" for place in late_listeners(text)]
    assert found == []


def test_no_job_burns_time_to_last_longer() -> None:
    found = []
    for path in TESTS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "sum(range(" in text:
            found += [f"{path.relative_to(TESTS)}: {place}" for place in burnt_time(text)]
    assert found == []
