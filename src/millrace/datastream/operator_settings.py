"""Settings of the operator that makes a stream: names, ids, parallelism, chaining."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from millrace.common.config.execution_config import ExecutionConfig
from millrace.common.errors import JobDefinitionError
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.datastream.data_stream_sink import checked_parallelism, checked_uid_hash
from millrace.datastream.slot_sharing_group import SlotSharingGroup, group_name
from millrace.datastream.stream_picture import StreamPicture
from millrace.job_graph.transformation import Input, Transformation

if TYPE_CHECKING:
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class OperatorSettings(StreamPicture):
    """Base class of streams with the methods that set name, uid, parallelism and chaining of their
    operator."""

    _env: StreamExecutionEnvironment
    _inputs: tuple[Input, ...]

    def _graph_ends(self) -> list[Transformation]:
        return [source.transformation for source in self._inputs]

    def __repr__(self) -> str:
        operators = ", ".join(_shown(source.transformation) for source in self._inputs)
        return f"<{type(self).__name__} of {operators}>"

    def get_name(self) -> str:
        """The name of the operator that makes this stream."""
        return self._transformation.name

    def name(self, name: str) -> Self:
        """Name the operator, for logs and error messages."""
        self._operator("name").name = name
        return self

    def uid(self, uid: str) -> Self:
        """Set the operator's uid, by which a restored job finds its state."""
        self._operator("uid").uid = uid
        return self

    def set_description(self, description: str) -> Self:
        """Set the operator's description, for the plan."""
        self._operator("set_description").description = description
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of the operator."""
        checked = checked_parallelism(parallelism)
        operator = self._operator("set_parallelism")
        operator.parallelism, operator.fixed_parallelism = checked, True
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups. All operators of a job share one number: building the
        job fails if it differs from the environment's."""
        self._operator("set_max_parallelism").max_parallelism = max_parallelism
        return self

    def force_non_parallel(self) -> Self:
        """Run the operator in one subtask, whatever the environment's parallelism."""
        return self.set_parallelism(1)

    def disable_chaining(self) -> Self:
        """Run the operator in a stage of its own, between exchanges."""
        self._operator("disable_chaining").chaining = False
        return self

    def start_new_chain(self) -> Self:
        """Begin a new stage with the operator; later operators may be chained to it."""
        self._operator("start_new_chain").starts_chain = True
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Accepted and kept for the plan; Spark decides where tasks run (see docs/deviations)."""
        self._operator("slot_sharing_group").slot_sharing_group = group_name(slot_sharing_group)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accepted without effect: the environment's buffer timeout counts for all operators (see
        docs/deviations).

        Raises:
            JobDefinitionError: the timeout is below -1.
        """
        self._operator("set_buffer_timeout")
        if timeout_millis < -1:
            raise JobDefinitionError(
                f"set_buffer_timeout() takes -1 or a number of ms from 0, got {timeout_millis}"
            )
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the id that the operator had in an earlier version of the job: 32 hexadecimal
        digits, or its uid in the plan."""
        self._operator("set_uid_hash").uid = checked_uid_hash(uid_hash)
        return self

    def get_type(self) -> TypeInformation[Any]:
        """The declared type of the records; without a declaration, the type of any Python
        object."""
        return self.declared_type() or Types.PICKLED_BYTE_ARRAY()

    def declared_type(self) -> TypeInformation[Any] | None:
        """The type that the program declared; None if it declared none, or for a union of
        several types."""
        types = [
            source.transformation.output_type if source.tag is None else source.tag.type_info
            for source in self._inputs
        ]
        return types[0] if all(kind == types[0] for kind in types) else None

    def get_execution_config(self) -> ExecutionConfig:
        """The environment's execution settings."""
        return self._env.get_config()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._env

    @property
    def _transformation(self) -> Transformation:
        return self._inputs[0].transformation

    def _operator(self, method: str) -> Transformation:
        """The operator behind this stream, for ``method`` to change."""
        first = self._inputs[0]
        if len(self._inputs) == 1 and first.tag is None and first.partitioning is None:
            return first.transformation
        raise JobDefinitionError(
            f"{method}() changes one operator, but this stream is a union, a side output or a "
            f"repartitioned stream; call it on the result of an operator, such as "
            f"'{first.transformation.name}'"
        )


def _shown(operator: Transformation) -> str:
    """One line about an operator: its name, output and number of subtasks."""
    kind = "" if operator.output_type is None else f": {operator.output_type}"
    return f"{operator.name}{kind} [parallelism {operator.parallelism}]"
