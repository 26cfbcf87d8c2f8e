"""Check that a job can run on the data available now."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.job_graph.stages import inputs_first
from millrace.job_graph.transformation import Transformation

__all__ = ["require_available_now"]

_NO_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"


def require_available_now(configuration: Configuration, sinks: Sequence[Transformation]) -> None:
    """Refuse a run on the data available now (`options.AVAILABLE_NOW`) if the next run could not
    continue from it, or a source cannot determine its end.

    Raises:
        JobDefinitionError: says what is in the way.
    """
    if configuration.get(options.RUNTIME_MODE) == "BATCH":
        raise JobDefinitionError(
            "an available-now run keeps its state for the next run, which BATCH mode does "
            "not do; use STREAMING mode"
        )
    if configuration.get(options.CHECKPOINTING_DIR) is None:
        raise JobDefinitionError(
            "an available-now run continues where the last run ended, and needs a directory "
            f"in which that position is stored: set {options.CHECKPOINTING_DIR.key}"
        )
    if configuration.get(options.EXTERNALIZED_CHECKPOINT_RETENTION) == _NO_CHECKPOINTS:
        raise JobDefinitionError(
            "an available-now run leaves its checkpoint for the next run, so it cannot keep "
            f"{_NO_CHECKPOINTS}"
        )
    endless = [t.name for t in inputs_first(sinks) if not _can_end(t)]
    if endless:
        raise JobDefinitionError(
            f"source '{endless[0]}' cannot determine the end of the data available now, so "
            "an available-now run would never end; watched files and bounded sources can "
            "determine it"
        )


def _can_end(transformation: Transformation) -> bool:
    source = transformation.source
    return source is None or source.supports_available_now
