"""Details of a job for other processes, while it runs and after its end.

They are in the file ``details.json`` in the job's directory: the job's graph and settings, and its
`JobDetails`, which are at most a second old. Flink: class ``ArchivedExecutionGraph``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import msgspec

from millrace.common.config import restart_strategy
from millrace.common.config.configuration import Configuration
from millrace.common.config.restart_strategy import RestartStrategyConfiguration
from millrace.common.config.shown_settings import shown_settings
from millrace.common.errors import CheckpointError
from millrace.common.typed_json import decode_json
from millrace.engine.job_config import JobConfig
from millrace.engine.job_details import JobDetails
from millrace.job_graph.job_graph import JobGraph
from millrace.job_graph.operator_tree import exchange_of
from millrace.job_graph.transformation import Transformation
from millrace.state.checkpoint.files import StrPath, opened

__all__ = [
    "ARCHIVE",
    "ArchivedJob",
    "ArchivedOperator",
    "ArchivedStage",
    "ArchivedOperatorInput",
    "RestartSettings",
    "archived_job",
    "read_archive",
]

ARCHIVE = "details.json"
MAX_BYTES = 64 << 20
LONGEST_DESCRIPTION = 4_000
"""Maximum number of characters of an operator's description: the file is written every second."""


class ArchivedInput(msgspec.Struct, frozen=True):
    """Input edge of a stage in the graph."""

    stage: str
    """Uid of the stage that sends."""
    exchange: str


class ArchivedOperatorInput(msgspec.Struct, frozen=True):
    """Input of an operator in the graph."""

    operator: str
    """Uid of the operator that sends."""
    exchange: str = ""
    """Exchange between the operators; empty if records stay in their subtask."""


class ArchivedOperator(msgspec.Struct, frozen=True):
    """Operator of a stage."""

    uid: str
    name: str
    description: str = ""
    """The operator's work, such as ``Calc(select=[id], where=[id > 3])``; empty if its program
    does not say more than the name."""
    inputs: tuple[ArchivedOperatorInput, ...] = ()


class ArchivedStage(msgspec.Struct, frozen=True):
    """Stage of the graph at the start of the job."""

    uid: str
    name: str
    parallelism: int
    inputs: tuple[ArchivedInput, ...] = ()
    operators: tuple[ArchivedOperator, ...] = ()
    """Operators in the order of the chain; empty if an earlier version wrote the details."""


class RestartSettings(msgspec.Struct, frozen=True):
    """A restart strategy as plain data."""

    kind: str
    values: dict[str, float] = {}
    description: str = ""

    @staticmethod
    def of(strategy: RestartStrategyConfiguration) -> RestartSettings:
        """Settings of a strategy."""
        values = asdict(strategy)  # type: ignore[call-overload]  # every strategy is a dataclass
        return RestartSettings(type(strategy).__name__, values, strategy.get_description())

    def strategy(self) -> RestartStrategyConfiguration:
        """The strategy; the default one if this version does not know its kind."""
        kind = getattr(restart_strategy, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, RestartStrategyConfiguration)):
            return restart_strategy.FallbackRestartStrategy()
        whole = {f.name for f in fields(kind) if f.type == "int"}  # type: ignore[arg-type]
        values = {k: int(v) if k in whole else v for k, v in self.values.items()}
        return kind(**values)


class ArchivedJob(msgspec.Struct, frozen=True, kw_only=True):
    """Details of a job at one moment, and its properties that stay the same during a run."""

    run_id: str
    max_parallelism: int
    checkpoint_interval: int
    """Checkpoint interval in milliseconds."""
    batch: bool = False
    """Whether the job runs in runtime mode BATCH, chosen by the user or by AUTOMATIC."""
    executor: str = ""
    """The executor, ``epochs`` or ``resident``; empty if an earlier version wrote the details."""
    executor_reason: str = ""
    """Why the job has this executor."""
    retained_checkpoints: int = 1
    stages: tuple[ArchivedStage, ...] = ()
    restart: RestartSettings = RestartSettings("FallbackRestartStrategy")
    settings: dict[str, str] = {}
    """The job's configuration, without secrets."""
    spark_ui: str = ""
    """URL of the web UI of the job's Spark application; empty if there is none."""
    origins: dict[str, str] = {}
    """Origins of the settings (`SettingOrigin`); empty if an earlier version wrote the details."""
    details: JobDetails = msgspec.field(default_factory=JobDetails)
    time: int = 0
    """Time at which the details were written, ms since the epoch of Unix."""

    def encoded(self) -> bytes:
        """The details as JSON. Values of metrics that JSON cannot represent become their Python
        text."""
        return msgspec.json.encode(self, enc_hook=_plain)


def archived_stages(graph: JobGraph) -> tuple[ArchivedStage, ...]:
    """Stages of a graph with their inputs."""
    program = graph.program
    uids = {stage.id: stage.uid for stage in program.stages}
    edges = {edge.id: edge for edge in program.edges}
    operators = {uid: _archived_operator(made, graph) for made, uid in graph.uid_of.items()}
    return tuple(
        ArchivedStage(
            stage.uid,
            stage.name,
            stage.parallelism,
            tuple(
                ArchivedInput(uids[edges[id].source_stage], edges[id].exchange.name)
                for id in stage.inputs
                if id in edges
            ),
            tuple(operators[node.uid] for node in stage.nodes if node.uid in operators),
        )
        for stage in program.stages
    )


def _archived_operator(made: Transformation, graph: JobGraph) -> ArchivedOperator:
    description = made.description
    if len(description) > LONGEST_DESCRIPTION:
        description = f"{description[:LONGEST_DESCRIPTION]}…"
    inputs = []
    for source in made.inputs:
        exchange = exchange_of(source)
        name = "" if exchange is None else exchange.name
        inputs.append(ArchivedOperatorInput(graph.uid_of[source.transformation], name))
    return ArchivedOperator(graph.uid_of[made], made.name, description, tuple(inputs))


def archived_job(
    graph: JobGraph,
    config: JobConfig,
    configuration: Configuration,
    restart: RestartStrategyConfiguration,
    spark_ui: str = "",
) -> ArchivedJob:
    """Properties of a job that are known before its start."""
    program = graph.program
    return ArchivedJob(
        run_id=program.run_id,
        max_parallelism=program.max_parallelism,
        checkpoint_interval=config.checkpoint_interval,
        batch=config.batch,
        executor="" if config.executor is None else str(config.executor.kind),
        executor_reason="" if config.executor is None else config.executor.reason,
        retained_checkpoints=config.retained_checkpoints,
        stages=archived_stages(graph),
        restart=RestartSettings.of(restart),
        settings=shown_settings(configuration.to_dict()),
        spark_ui=spark_ui,
        origins={key: str(configuration.origin(key)) for key in configuration.key_set()},
    )


def read_archive(job_dir: StrPath) -> ArchivedJob | None:
    """Archived details in a job directory; None if it has none that can be read."""
    try:
        with opened(os.path.join(job_dir, ARCHIVE)) as file:
            return decode_json(file.read(MAX_BYTES), ArchivedJob)
    except (CheckpointError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)[:1_000]
