"""A superstep program as one Spark job with a barrier stage.

Spark brings each vertex and its out-edges to their task, starts all tasks together and takes their
results; between that, tasks exchange values among themselves. A task that is lost ends all tasks:
the job is repeated, from the newest checkpoint if there are any.
"""

from __future__ import annotations

import json
import logging
import pickle
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import BarrierTaskContext, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.filesystem.registry import resolved
from millrace.runtime.supersteps.packed_rows import OWNER, PIECES, GraphTypes, RowPacker
from millrace.runtime.supersteps.superstep_checkpoints import (
    CheckpointPolicy,
    claim_checkpoints,
    delete_checkpoints,
)
from millrace.runtime.supersteps.superstep_program import SuperstepProgram
from millrace.runtime.supersteps.superstep_task import SuperstepTask
from millrace.spark.cluster_cores import ClusterCores, in_driver
from millrace.spark.graphs.frames import (
    BatchFunction,
    arrow_schema_of,
    free_with,
    mapped,
    spark_failure,
)
from millrace.spark.partition_ids import by_partition_id
from millrace.spark.resident.free_slots import DYNAMIC_ALLOCATION, all_slots, busy_slots, is_dynamic
from millrace.spark.worker_death import worker_death
from millrace.state.serialization.pickles import dump_code
from millrace.state.serialization.script_classes import track_script_classes

__all__ = ["SuperstepSettings", "edges_in_direction", "run_supersteps_on_spark"]

log = logging.getLogger(__name__)

_ERROR = "_error"
_DESCRIPTION = "spark.job.description"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_LOSSES = (
    "PeerLostError",
    "Python worker exited",
    "ExecutorLostFailure",
    "Executor Lost",
    "ExecutorLost",
    "FetchFailed",
    "barrier",
    "Connection reset",
    "EOFException",
)
"""Texts in Spark's messages that tell of a lost process, and not of an error of the program."""
_NOT_LOADED = re.compile(
    r"^(?:\w+\.)*(?:ModuleNotFoundError|ImportError|AttributeError): "
    r"(?P<reason>(?:No module named|cannot import name|Can't get attribute|module)[^\n]*)",
    re.MULTILINE,
)
"""Last line of a worker's traceback if it cannot load what the driver has pickled."""
_FIRST_PATIENCE = 5.0
"""Seconds in which slots must become free for the first run: other jobs may be ending."""
_PATIENCE = 120.0
"""Seconds in which slots must become free for a repeated run: an executor may have to start."""


@dataclass(frozen=True, slots=True)
class SuperstepSettings:
    """Settings of a run.

    Args:
        name: name for messages and Spark's pages.
        parallelism: number of tasks; None for one per core.
        checkpoints: place and times of checkpoints; None for none.
        restarts: losses of a process after which the run fails.
    """

    name: str = "graph iteration"
    parallelism: int | None = None
    checkpoints: CheckpointPolicy | None = None
    restarts: int = 10


def run_supersteps_on_spark(
    vertices: DataFrame,
    edges: DataFrame,
    program: Callable[[], SuperstepProgram],
    schema: pa.Schema,
    settings: SuperstepSettings | None = None,
    prepared: BatchFunction | None = None,
) -> DataFrame:
    """The result of a program: a DataFrame that Spark keeps, in memory or on disk.

    Args:
        vertices: columns ``id`` and, if the program reads them, ``value``.
        edges: columns ``source``, ``target`` and, if the program reads them, ``value``.
        program: makes the program of each task. It is pickled.
        schema: columns of the program's result.
        prepared: maps the edges of each partition of Spark before they go to their tasks. They
            have the columns ``owner``, ``source``, ``target``, ``target_owner`` and, if there are
            values, ``value``. None to leave them as they are.

    Raises:
        UserFunctionError: a function of the program's user failed.
        JobExecutionError: there are too few slots, or processes are lost again and again.
    """
    settings = settings or SuperstepSettings()
    if settings.checkpoints is not None:
        # a relative directory is one of the driver: workers may work elsewhere
        directory = resolved(settings.checkpoints.directory)
        settings = replace(settings, checkpoints=replace(settings.checkpoints, directory=directory))
    context = vertices.sparkSession.sparkContext
    _refuse_dynamic_allocation(context)
    tasks = settings.parallelism or _cores(context)
    track_script_classes()
    pickled = dump_code(program, lambda: f"the program of {settings.name}")
    loading = _PickledProgram(pickled)
    job = _Job(context, loading, schema, settings, tasks, secrets.token_hex(8))
    rows, types = _rows_by_task(vertices, edges, tasks, prepared)
    losses = 0
    attempt = None
    while True:
        _require_slots(context, tasks, _PATIENCE if losses else _FIRST_PATIENCE)
        if settings.checkpoints is not None:
            attempt = claim_checkpoints(settings.checkpoints.directory, attempt)
        try:
            result = job.run(rows, types, attempt)
        except (PySparkException, Py4JError) as error:
            losses += 1
            _require_loss(error, losses, settings)
            log.warning("%s: a process was lost; the run is repeated", settings.name)
            continue
        if settings.checkpoints is not None:
            delete_checkpoints(settings.checkpoints.directory, attempt)
        return result


@dataclass(frozen=True, slots=True)
class _PickledProgram:
    """A pickled function that makes the program. It is pickled by the library that also pickles the
    program's messages. This library recognises a class of the user's script wherever a message
    comes from; Spark's own copy of the library would not.
    """

    data: bytes

    def __call__(self) -> SuperstepProgram:
        program: SuperstepProgram = pickle.loads(self.data)()
        return program


@dataclass(frozen=True, slots=True)
class _Job:
    """The Spark jobs of a run."""

    context: SparkContext
    program: Callable[[], SuperstepProgram]
    schema: pa.Schema
    settings: SuperstepSettings
    tasks: int
    run_id: str

    def run(self, rows: DataFrame, types: GraphTypes, attempt: str | None) -> DataFrame:
        """Run the program once. Returns the result, which Spark keeps.

        Args:
            attempt: name of the attempt, which may write checkpoints.
        """
        task = SuperstepTask(
            self.program,
            types,
            self.schema,
            secrets.token_hex(16).encode(),
            self.settings.name,
            self.settings.checkpoints,
            self.run_id,
            attempt,
        )
        fields = [field.with_nullable(True) for field in self.schema]
        schema = pa.schema([*fields, pa.field(_ERROR, pa.string())])
        function = _in_barrier_stage(task, self.tasks, in_driver(self.context))
        frame = mapped(rows, function, schema, barrier=True)
        # a shuffle behind it: Spark repeats a barrier stage as a whole only if none of its results
        # is kept yet
        frame = frame.repartition(self.tasks, sf.col(f"`{schema.names[0]}`")).persist()
        try:
            with _described(self.context, self.settings.name):
                errors = frame.where(sf.col(_ERROR).isNotNull()).select(_ERROR).collect()
        except BaseException:
            frame.unpersist()
            raise
        if errors:
            frame.unpersist()
            raise _error_of([json.loads(row[0]) for row in errors])
        return _without_errors(frame)


def _without_errors(kept: DataFrame) -> DataFrame:
    """The rows of a result that Spark keeps. A part of it that is lost later is computed again: if
    that fails, the report becomes an error, not a row."""
    report = sf.col(_ERROR)
    message = sf.get_json_object(report, "$.message")
    fine = sf.when(report.isNull(), sf.lit(True)).otherwise(sf.raise_error(message))
    result = kept.where(fine.cast("boolean")).drop(_ERROR)
    free_with(result, kept)
    return result


def _in_barrier_stage(
    task: SuperstepTask, tasks: int, on_one_host: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of Spark's tasks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get()
        index = context.partitionId()
        host = "" if on_one_host else context.getTaskInfos()[index].address.rpartition(":")[0]
        yield from task.run(batches, index, tasks, host, context.allGather)

    return run


def _rows_by_task(
    vertices: DataFrame, edges: DataFrame, tasks: int, prepared: BatchFunction | None
) -> tuple[DataFrame, GraphTypes]:
    """Pieces of vertices and edges, each in the partition of its task."""
    vertex_schema, edge_schema = arrow_schema_of(vertices), arrow_schema_of(edges)
    types = GraphTypes(
        vertex_schema.field("id").type, _value_type(vertex_schema), _value_type(edge_schema)
    )
    if pa.types.is_nested(types.ids):
        raise JobDefinitionError(
            f"ids of type {types.ids} cannot be the ids of a graph that iterates: translate them "
            "to numbers or text first (Graph.translate_graph_ids)"
        )

    def owner(name: str) -> Any:
        return sf.pmod(sf.hash(sf.col(name)), sf.lit(tasks)).cast("int")

    ends = owner("source").alias(OWNER), "source", "target", owner("target").alias("target_owner")
    vertex_rows = vertices.select(
        owner("id").alias(OWNER), "id", *([] if types.vertex_values is None else ["value"])
    )
    edge_rows = edges.select(*ends, *([] if types.edge_values is None else ["value"]))
    at_once = int(vertices.sparkSession.conf.get(_BATCH_ROWS) or 0)
    pack_vertices = RowPacker(types.vertex_schema, False, tasks, at_once)
    pack_edges = RowPacker(types.edge_schema, True, tasks, at_once)
    packed_vertices = mapped(vertex_rows, pack_vertices, PIECES)
    packed_edges = mapped(edge_rows, _after(prepared, pack_edges), PIECES)
    return by_partition_id(packed_vertices.unionAll(packed_edges), tasks, OWNER), types


def _after(prepared: BatchFunction | None, packer: RowPacker) -> BatchFunction:
    if prepared is None:
        return packer
    return lambda batches: packer(prepared(batches))


def edges_in_direction(edges: DataFrame, direction: str) -> DataFrame:
    """The edges, turned so that each message goes from source to target.

    Args:
        direction: ``OUT`` for the edges as they are, ``IN`` for reversed ones, ``ALL`` for both:
            then the value is a struct, which tells which edges are reversed.
    """
    value = [] if _value_type(arrow_schema_of(edges)) is None else [edges["value"]]
    reverse = [edges["target"].alias("source"), edges["source"].alias("target")]
    if direction == "OUT":
        return edges
    if direction == "IN":
        return edges.select(*reverse, *value)

    def marked(backwards: bool) -> Any:
        return sf.struct(*value, sf.lit(backwards).alias("backwards")).alias("value")

    there = edges.select("source", "target", marked(False))
    return there.unionAll(edges.select(*reverse, marked(True)))


def _value_type(schema: pa.Schema) -> Any:
    if "value" not in schema.names or pa.types.is_null(schema.field("value").type):
        return None
    return schema.field("value").type


def _cores(context: SparkContext) -> int:
    cores = ClusterCores(context)
    cores.wait_until_known()
    return cores.count


def _refuse_dynamic_allocation(context: SparkContext) -> None:
    if is_dynamic(context):
        raise JobExecutionError(
            "iterations on graphs need all their tasks at the same time, and Spark has no barrier "
            f"stages with {DYNAMIC_ALLOCATION}=true: set it to false for this "
            "application, with spark.executor.instances for the number of executors"
        )


def _require_slots(context: SparkContext, tasks: int, patience: float) -> None:
    """Raise unless there are slots for all tasks: Spark itself would wait for minutes.

    Raises:
        JobExecutionError: there are too few.
    """
    until = time.monotonic() + patience
    try:
        while True:
            slots, busy = all_slots(context), busy_slots(context)
            if slots - busy >= tasks:
                return
            if time.monotonic() >= until:
                break
            time.sleep(0.1)
    except Py4JError as error:
        raise JobExecutionError(f"Spark does not run: {error}") from error
    holders = f", {busy} of them busy" if busy else ""
    raise JobExecutionError(
        f"the graph iteration needs {tasks} slots at the same time, and the Spark application has "
        f"{slots}{holders}. Give the application more cores (--master local[{tasks + busy}], "
        "spark.cores.max, spark.executor.instances), lower the iteration's parallelism "
        "(set_parallelism of its configuration), or end the other jobs of the application"
    )


def _require_loss(
    error: PySparkException | Py4JError, losses: int, settings: SuperstepSettings
) -> None:
    """Raise unless a repeated run may succeed."""
    text = str(error)
    missing = _NOT_LOADED.search(text)
    if missing is not None:
        raise JobExecutionError(
            f"{settings.name}: a worker cannot load the program: {missing['reason']}. Install "
            "the module for the workers' Python, or hand it to Spark (--py-files, "
            "SparkContext.addPyFile)"
        ) from error
    if isinstance(error, PySparkException):
        failure = spark_failure(error)
        if isinstance(failure, UserFunctionError):
            raise failure from error
        if not any(loss in text for loss in _LOSSES):
            raise failure from error
    elif not any(loss in text for loss in _LOSSES):
        raise JobExecutionError(f"{settings.name}: Spark does not run: {text[:500]}") from error
    if losses > settings.restarts:
        death = worker_death(text)
        reason = f"a Python worker died: {death.reason}" if death else text.partition("\n")[0][:500]
        raise JobExecutionError(
            f"{settings.name}: a process was lost {losses} times; the last time: {reason}"
        ) from error


def _error_of(reports: list[Mapping[str, Any]]) -> JobExecutionError:
    """The error of the first task that failed by itself."""
    first = min(reports, key=lambda report: (bool(report["follows"]), report["task"]))
    if first["operator"] is not None:
        return UserFunctionError(first["operator"], first["record"], first["message"])
    return JobExecutionError(first["message"])


@contextmanager
def _described(context: SparkContext, name: str) -> Iterator[None]:
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, name)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]
