"""Declarations of operator state: what cannot be redistributed is refused before anything runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode
from millrace.testing import run_local

WRONG = [
    (OperatorStateDeclaration("x", RedistributionMode.MERGE), "mode MERGE needs a function"),
    (OperatorStateDeclaration("x", RedistributionMode.KEY_GROUP), "it has no keys"),
    (OperatorStateDeclaration("x", RedistributionMode.UNION, max), "mode UNION does not merge"),
    (OperatorStateDeclaration("x", "min"), "'min' is not a RedistributionMode"),  # type: ignore[arg-type]
]


def built(*declared: OperatorStateDeclaration) -> Any:
    """A job whose operator declares these."""

    class Declaring(Operator):
        operator_states = declared

        def process(self, values: list[Any], timestamps: list[int] | None) -> None:
            self.output.emit(RowBatch(values, timestamps))

    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1])._then("Strange", Declaring, None)
    return stream.execute_and_collect()


@pytest.mark.parametrize(("declaration", "message"), WRONG)
def test_it_is_refused_when_the_job_is_built(declaration, message) -> None:
    expected = f"state 'x' of operator 'Strange' cannot be redistributed .*: {re.escape(message)}"
    with run_local(), pytest.raises(JobDefinitionError, match=expected):
        built(declaration)


def test_names_are_unique_in_an_operator() -> None:
    twice = [OperatorStateDeclaration("x", RedistributionMode.UNION)] * 2
    with run_local(), pytest.raises(JobDefinitionError, match="declares state 'x' 2 times"):
        built(*twice)


def test_what_can_be_redistributed_runs() -> None:
    with run_local():
        assert list(built(OperatorStateDeclaration("x", RedistributionMode.MERGE, max))) == [1]
