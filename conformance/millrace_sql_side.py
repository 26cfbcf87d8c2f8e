"""Millrace's side of the programs of tables: in this process with small epochs, on resident tasks
in threads, or on Spark."""

from __future__ import annotations

from typing import Any

from conformance.millrace_side import resident_tasks
from conformance.relational import RelationalProgram
from conformance.sql_outputs import results

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

EPOCH_RECORDS = 7
SETTINGS = {"parallelism.default": "1", "table.local-time-zone": "UTC"}


def environment(program: RelationalProgram, **extra: str) -> TableEnvironment:
    builder = EnvironmentSettings.new_instance()
    settings = builder.in_batch_mode() if program.is_batch else builder.in_streaming_mode()
    t_env = TableEnvironment.create(settings.build())
    for key, value in (*SETTINGS.items(), *extra.items(), *program.settings):
        t_env.get_config().set(key, value)
    return t_env


def run_in_process(program: RelationalProgram) -> tuple[list[Any], str]:
    """The results on the executor of the tests, and the error that ended the program."""
    # net changes of one record are the changes that Flink gives
    with run_local(epoch_records=1 if program.is_changelog else EPOCH_RECORDS):
        return results(environment(program), program)


def run_on_resident_tasks(program: RelationalProgram, **extra: str) -> tuple[list[Any], str]:
    """The same on resident tasks, with the clock of the machine and ``extra`` settings. Changes are
    folded as they happen to come together."""
    with resident_tasks():
        return results(environment(program, **extra), program)


def run_on_spark(program: RelationalProgram) -> tuple[list[Any], str]:
    """The same on the Spark session of this process (begun if there is none)."""
    return results(environment(program), program)
