"""The law of batch mode for the programs of the conformance suite: however their sources are cut
into epochs, they give the same rows. What a program gives in streaming mode does not matter here,
only that it is one and the same.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.millrace_sql_side import SETTINGS
from conformance.relational import RelationalProgram, programs
from conformance.sql_outputs import results

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

SIZES = (7, 2, 1)
"""Rows that a source gives per epoch."""
PROGRAMS = [program for program in programs() if not program.is_changelog]
DRAWN = random.Random(27).sample(PROGRAMS, 25)


def batch_results(program: RelationalProgram, size: int | None) -> list[Any]:
    with run_local(epoch_records=size):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        for key, value in (*SETTINGS.items(), *program.settings):
            t_env.get_config().set(key, value)
        return results(t_env, program)[0]


@pytest.mark.parametrize("program", DRAWN, ids=lambda program: program.path)
def test_epochs_do_not_show_in_the_results(program: RelationalProgram) -> None:
    assert batch_results(program, 1) == batch_results(program, None)


@pytest.mark.torture
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.path)
def test_epochs_do_not_show_in_the_results_of_any(program: RelationalProgram) -> None:
    whole = batch_results(program, None)
    assert [batch_results(program, size) for size in SIZES] == [whole] * len(SIZES)
