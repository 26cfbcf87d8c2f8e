"""Iterations: a stream that is fed back into itself (Flink 1.x docs, "Iterations").

On resident tasks, a record that is fed back goes round at once; with a Spark job per epoch, it is
input of the next epoch. Records in a loop are part of every checkpoint in both cases. The job ends
when its inputs have ended and nothing goes round any more. Processing-time timers and requests
inside the loop are waited for: a function that always sets another timer keeps the job running.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.datastream.stream import DataStream
from millrace.job_graph.transformation import Input, Role
from millrace.runtime.operators.iteration import IterationHeadOperator, IterationTailOperator

T = TypeVar("T")


class IterativeStream(DataStream[T]):
    """The beginning of a loop. Flink: class ``IterativeStream``.

    Args:
        stream: the stream that enters the loop.
        name: name of the operator at the beginning.
        operator: function that makes this operator for a loop.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> loop = env.from_collection([3, 5]).iterate()
        >>> less = loop.map(lambda n: n - 1)
        >>> _ = loop.close_with(less.filter(lambda n: n > 0))
        >>> results = less.filter(lambda n: n <= 0)
    """

    def __init__(
        self,
        stream: DataStream[T],
        name: str = "Iteration Head",
        operator: Callable[[str], IterationHeadOperator] = IterationHeadOperator,
    ) -> None:
        env = stream.get_execution_environment()
        self._loop = env.new_loop()
        head = stream._transform(name, Role.OPERATOR, partial(operator, self._loop), ())
        head.loop = self._loop
        if all(source.partitioning is None for source in stream._inputs):
            widest = max((s.transformation for s in stream._inputs), key=lambda t: t.parallelism)
            head.parallelism = widest.parallelism
            head.fixed_parallelism = widest.fixed_parallelism
        self._head = head
        self._closed = False
        super().__init__(env, [Input(head)])

    def close_with(self, feedback_stream: DataStream[T]) -> DataStream[T]:
        """Feed a stream back to the beginning. Its partitioning determines the subtask of each
        record.

        Raises:
            JobDefinitionError: the loop is closed already, or the stream is of another job.
        """
        if self._closed:
            raise JobDefinitionError(
                "close_with() was called twice on one iteration; use union() to combine the "
                "streams that are fed back"
            )
        if feedback_stream.get_execution_environment() is not self._env:
            raise JobDefinitionError("close_with() takes a stream of the same job")
        tail = feedback_stream._transform(
            "Iteration Tail", Role.FEEDBACK, partial(IterationTailOperator, self._loop), ()
        )
        tail.loop = self._loop
        tail.parallelism = self._head.parallelism
        tail.fixed_parallelism = self._head.fixed_parallelism
        self._env.add_sink_transformation(tail)
        self._closed = True
        return feedback_stream
