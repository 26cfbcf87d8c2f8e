"""The end of a stream: a sink that can still be named and sized."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.plan.transformation import Transformation


class DataStreamSink:
    """Returned by `sink_to`, `add_sink` and `print`. Flink: class ``DataStreamSink``."""

    def __init__(self, transformation: Transformation) -> None:
        self._transformation = transformation

    def name(self, name: str) -> DataStreamSink:
        """Name the sink, for logs and error messages."""
        self._transformation.name = name
        return self

    def uid(self, uid: str) -> DataStreamSink:
        """Give the sink a fixed id, under which its state is found again."""
        self._transformation.uid = uid
        return self

    def set_description(self, description: str) -> DataStreamSink:
        """Describe the sink, for the plan."""
        self._transformation.description = description
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        """How many subtasks write."""
        self._transformation.parallelism = checked_parallelism(parallelism)
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Keep the sink out of its input's chain."""
        self._transformation.chaining = False
        return self


def checked_parallelism(parallelism: int) -> int:
    """The parallelism; raises JobDefinitionError unless it is a positive whole number."""
    if not isinstance(parallelism, int) or isinstance(parallelism, bool) or parallelism < 1:
        raise JobDefinitionError(f"a parallelism is a whole number of at least 1: {parallelism!r}")
    return parallelism
