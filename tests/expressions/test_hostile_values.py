"""No built-in function, and no cast, breaks on hostile values: `hostile_values` says the law."""

from __future__ import annotations

import os
import random

import pytest
from tests.expressions.hostile_values import Calls

from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.registry import functions

FUNCTIONS = {each.name: each for each in functions() if each.kind is FunctionKind.SCALAR}
CASES: dict[str, FunctionDefinition | None] = {**FUNCTIONS, "CAST": None}


def broken(name: str, seed: int, count: int) -> list[str]:
    """What breaks the law of so many calls."""
    calls, found = Calls(CASES[name], seed), []
    for _ in range(count):
        try:
            calls.drawn().keep_the_law()
        except AssertionError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_function_takes_hostile_values(name: str) -> None:
    assert not broken(name, 1, 12)


@pytest.mark.torture
@pytest.mark.parametrize("name", CASES)
def test_a_function_takes_ten_thousand_hostile_values(name: str) -> None:
    seed = int(os.environ.get("MILLRACE_SEED", random.randrange(10**6)))
    found = broken(name, seed, 10_000)
    assert not found, f"seed {seed}: {len(found)}, the first: {found[:3]}"
