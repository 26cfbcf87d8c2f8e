"""Execution target of a job on a Spark Connect server, and a check for features that such a
server lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.datastream.execution_target import (
    ExecutionTarget,
    resident_settings,
    warn_of_idle_options,
)
from millrace.engine.executor_choice import ExecutorChoice, ExecutorKind
from millrace.job_graph.job_graph import JobGraph

if TYPE_CHECKING:
    from millrace.spark.connect.remote import Remote

__all__ = ["ConnectServer", "connect_target", "connect_server"]


class ConnectServer:
    """The Spark Connect server on which this process's jobs run.

    Args:
        remote: address of the server. None if the program has a session there, and nothing names
            the address, such as in a notebook of a hosted Spark.
    """

    def __init__(self, remote: Remote | None) -> None:
        self.remote = remote

    def __str__(self) -> str:
        if self.remote is None:
            return "the Spark Connect server of this program's session"
        return f"the Spark Connect server {self.remote}"

    @property
    def choice(self) -> ExecutorChoice:
        """The executor of a job on the server."""
        return ExecutorChoice(ExecutorKind.RESIDENT, f"the job runs on {self}")


def connect_server(configuration: Configuration) -> ConnectServer | None:
    """The Spark Connect server on which a job runs. None if it runs in a Spark application of this
    process.

    Raises:
        ConfigurationError: an address is not one of a Spark Connect server.
    """
    from millrace.spark.connect.remote import remote_in
    from millrace.spark.connect.sessions import has_session

    settings = configuration.to_dict()
    remote = remote_in(settings)
    if remote is not None:
        return ConnectServer(remote)
    if "spark.master" in settings or not has_session():
        return None
    return ConnectServer(None)


def connect_target(
    graph: JobGraph, configuration: Configuration, server: ConnectServer
) -> ExecutionTarget:
    """Execution target of a job on a Spark Connect server.

    Raises:
        JobDefinitionError: such a server cannot run this job.
        JobExecutionError: the server does not answer, or its workers cannot run the job.
    """
    require_fit_for_connect(graph, configuration, server)
    from millrace.spark.connect.connect_application import connect_application

    settings = resident_settings(configuration)  # before a session begins that someone must end
    warn_of_idle_options(configuration, ExecutorKind.RESIDENT)
    application = connect_application(configuration, server.remote)
    return ExecutionTarget(application.executor(settings), server.choice, (application,))


def require_fit_for_connect(
    graph: JobGraph, configuration: Configuration, server: ConnectServer
) -> None:
    """Raise JobDefinitionError if a job needs more of Spark than a Spark Connect server has."""

    def refuse(what: str, way_out: str) -> NoReturn:
        raise JobDefinitionError(f"{what}, which {server} cannot do: {way_out}")

    without = "or run it without SPARK_REMOTE and --remote, in a Spark application of its own"
    option = options.EXECUTOR
    if configuration.contains_key(option.key) and configuration.get(option) == ExecutorKind.EPOCHS:
        refuse(
            f"{option.key} is 'epochs', so that each epoch is a Spark job of this process",
            f"leave {option.key} out, and the job runs on resident tasks; {without}",
        )
    if graph.program.batch_mode:
        refuse(
            "the job runs in BATCH mode, whose stages are those of one Spark job of this process",
            f"set execution.runtime-mode: STREAMING, {without}",
        )
    for source in graph.sources:
        if source.source.is_delivered:
            refuse(
                f"source '{source.name}' is a DataFrame, which Spark jobs of this process read",
                f"use a source that reads in the workers (files, Kafka, JDBC, Delta), {without}",
            )
    for sink in graph.sinks:
        if sink.sink.runs_spark_jobs:
            refuse(
                f"sink '{sink.name}' runs Spark jobs of this process",
                f"use a sink that writes in the workers (files, Kafka, JDBC, Delta), {without}",
            )
