"""The job graph: the program for the workers, and the engine's own view of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.common.time.watermark_strategy import WatermarkAlignment
from millrace.job_graph.transformation import Transformation
from millrace.runtime.program import Program


@dataclass(frozen=True)
class SourceNode:
    """A source, and the stage that reads it."""

    uid: str
    name: str
    source: Source[Any]
    stage: int
    parallelism: int
    alignment: WatermarkAlignment | None = None


@dataclass(frozen=True)
class SinkNode:
    """A sink, and the stage that writes to it."""

    uid: str
    name: str
    sink: Sink[Any]
    stage: int = 0
    parallelism: int = 1


@dataclass(frozen=True)
class LoopNode:
    """A loop, and the stage that receives its feedback."""

    loop: str
    stage: int
    parallelism: int
    body: frozenset[int]
    """All stages that records of the loop pass through."""
    feeders: frozenset[int] = frozenset()
    """Stages outside the loop that send records into its body."""


@dataclass(frozen=True)
class JobGraph:
    """A whole job, ready to be run."""

    program: Program
    sources: tuple[SourceNode, ...]
    sinks: tuple[SinkNode, ...]
    uid_of: Mapping[Transformation, str]
    """Uids of the operators, by transformation."""
    loops: tuple[LoopNode, ...] = ()
