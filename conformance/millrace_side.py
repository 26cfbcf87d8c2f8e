"""Millrace's side: in this process with small epochs and two subtasks, on resident tasks in
threads, or on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.outputs import lines
from conformance.program import Program, load

from millrace.common import Configuration
from millrace.common.config import options
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.execution_target import resident_settings
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.testing import run_local
from millrace.testing.resident_tasks import local_resident_executor

PARALLELISM = 2
EPOCH_RECORDS = 3


def run_in_process(name: str, parallelism: int = PARALLELISM, epoch_records: int = 0) -> list[str]:
    """The outputs of one program on the executor of the tests. Raises what the job raises."""
    program = load(name, "millrace", pauses=False)
    records = program.records_per_epoch or epoch_records or EPOCH_RECORDS
    with run_local(workers=2, epoch_records=records):
        env = StreamExecutionEnvironment.get_execution_environment()
        return _collect(program, env.set_parallelism(parallelism))


def run_on_resident_tasks(name: str) -> list[str]:
    """The outputs of one program on resident tasks, with the clock of the machine.

    A program with pauses depends on the watermark between two records. Its pauses are in a map: two
    subtasks of it would pause beside each other, and the order of their records, which the program
    relies on, would be lost. Such a program has one subtask here, as on PyFlink."""
    program = load(name, "millrace")
    with resident_tasks():
        env = StreamExecutionEnvironment.get_execution_environment()
        return _collect(program, env.set_parallelism(1 if program.has_pauses else PARALLELISM))


@contextmanager
def resident_tasks() -> Iterator[None]:
    """Run the jobs within on resident tasks in threads, with the clock of the machine."""
    before = JobLauncher.current()

    def executor(configuration: Configuration, *_: object) -> ResidentExecutor:
        return local_resident_executor(PARALLELISM, resident_settings(configuration))

    JobLauncher.install(JobLauncher(executor=executor))
    try:
        yield
    finally:
        JobLauncher.install(before)


def run_on_spark(name: str) -> list[str]:
    """The outputs of one program on the Spark session of this process (begun if there is none)."""
    program = load(name, "millrace")
    configuration = Configuration()
    records = program.records_per_epoch or EPOCH_RECORDS
    configuration.set(options.EPOCH_INITIAL_RECORDS, records)
    configuration.set(options.EPOCH_MAX_RECORDS, records)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return _collect(program, env.set_parallelism(PARALLELISM))


def _collect(program: Program, env: StreamExecutionEnvironment) -> list[str]:
    with program.stream(env).execute_and_collect() as records:
        return lines(records)
