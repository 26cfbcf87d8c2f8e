"""The end of a stream: a sink whose name and parallelism can still be set."""

from __future__ import annotations

import re

from millrace.common.errors import JobDefinitionError
from millrace.datastream.slot_sharing_group import SlotSharingGroup, group_name
from millrace.job_graph.transformation import Transformation


class DataStreamSink:
    """Result of `sink_to`, `add_sink` and `print`. Flink: class ``DataStreamSink``."""

    def __init__(self, transformation: Transformation) -> None:
        self._transformation = transformation

    def name(self, name: str) -> DataStreamSink:
        """Name the sink, for logs and error messages."""
        self._transformation.name = name
        return self

    def uid(self, uid: str) -> DataStreamSink:
        """Set the sink's uid, by which a restored job finds its state."""
        self._transformation.uid = uid
        return self

    def set_description(self, description: str) -> DataStreamSink:
        """Set the sink's description, for the plan."""
        self._transformation.description = description
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        """Set the number of subtasks that write."""
        self._transformation.parallelism = checked_parallelism(parallelism)
        self._transformation.fixed_parallelism = True
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        """Set the id that the sink had in an earlier version of the job."""
        self._transformation.uid = checked_uid_hash(uid_hash)
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStreamSink:
        """Accepted and kept for the plan; Spark decides where tasks run."""
        self._transformation.slot_sharing_group = group_name(slot_sharing_group)
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Keep the sink out of its input's chain."""
        self._transformation.chaining = False
        return self


def checked_uid_hash(uid_hash: str) -> str:
    """The id; raises JobDefinitionError unless it is a hexadecimal number."""
    if not isinstance(uid_hash, str) or not re.fullmatch("[0-9a-f]{8,64}", uid_hash):
        raise JobDefinitionError(
            f"a uid hash must be a hexadecimal number, as the plan shows it, got {uid_hash!r}; use "
            "uid() to give an operator a name of your own"
        )
    return uid_hash


def checked_parallelism(parallelism: int) -> int:
    """The parallelism; raises JobDefinitionError unless it is a positive whole number."""
    if not isinstance(parallelism, int) or isinstance(parallelism, bool) or parallelism < 1:
        raise JobDefinitionError(
            f"the parallelism must be a whole number of at least 1, not {parallelism!r}"
        )
    return parallelism
