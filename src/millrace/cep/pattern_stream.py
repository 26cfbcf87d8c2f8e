"""A stream with a pattern to search for, and the results of its matches.

Semantics: Flink docs, "FlinkCEP", sections Detecting Patterns and Time in CEP library.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

from millrace.cep.comparator import Comparator
from millrace.cep.function_checks import (
    check_function,
    check_process_function,
    checked_tag,
    checked_timeout,
)
from millrace.cep.match_functions import (
    FlatSelect,
    FlatSelectFunction,
    FlatSelectWithTimeout,
    FlatTimeoutFunction,
    Select,
    SelectFunction,
    SelectWithTimeout,
    TimeoutFunction,
)
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from millrace.common.types.typeinfo import TypeInformation
from millrace.datastream.keyed_stream import KeyedStream
from millrace.datastream.stream import DataStream
from millrace.job_graph.transformation import Input
from millrace.runtime.cep.partial_match_limit import PartialMatchLimit, PartialMatchOverflow
from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.operator import Operator
from millrace.runtime.operators.cep import CepOperator

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
KeyBatch = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Search(ABC):
    """Base class of the searches of a `PatternStream`: for one pattern, or for changing rules."""

    comparator: Comparator | None = None
    late_tag: OutputTag[Any] | None = None
    event_time: bool = True
    limit: PartialMatchLimit | None = None

    @abstractmethod
    def name(self) -> str:
        """The name of the operator."""

    @abstractmethod
    def operator(
        self, function: PatternProcessFunction[Any, Any], key_batch: KeyBatch, keyed: bool
    ) -> Callable[[], Operator]:
        """Factory of the operator."""

    def inputs(self, stream: KeyedStream[Any, Any]) -> list[Input] | None:
        """The operator's inputs; None if the stream is the only one."""
        return None


@dataclass(frozen=True, kw_only=True)
class PatternSearch(Search):
    """Search for one pattern."""

    pattern: EventPattern

    def name(self) -> str:
        return "Pattern"

    def operator(
        self, function: PatternProcessFunction[Any, Any], key_batch: KeyBatch, keyed: bool
    ) -> Callable[[], Operator]:
        return partial(
            CepOperator,
            self.pattern,
            function,
            key_batch,
            self.comparator,
            self.late_tag,
            self.event_time,
            keyed,
            self.limit,
        )


class PatternStream(Generic[T]):
    """The matches of a pattern in a stream. Flink: class ``PatternStream``; made by `CEP.pattern`.

    A match is a dict from the names of patterns to the events taken for them, oldest first. Each
    method returns a new pattern stream or, at the end, a stream of records.

    Example:
        >>> from millrace.cep import CEP, Pattern
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> numbers = env.from_collection([3, 50, 7]).key_by(lambda value: value % 2)
        >>> pattern = Pattern.begin("large").where(lambda value: value > 10)
        >>> matches = CEP.pattern(numbers, pattern).in_processing_time()
        >>> matches.select(lambda match: match["large"][0]).get_name()
        'Pattern'
    """

    def __init__(self, stream: DataStream[T], search: Search) -> None:
        self._stream = stream
        self._search = search

    # -- how it is looked for ----------------------------------------------------------

    def in_event_time(self) -> Self:
        """Take events in the order of their times, once the watermark has passed them. This is the
        default."""
        return self._with(replace(self._search, event_time=True))

    def in_processing_time(self) -> Self:
        """Take events as they arrive, at the time of the clock."""
        return self._with(replace(self._search, event_time=False))

    def side_output_late_data(self, late_data_output_tag: OutputTag[T]) -> Self:
        """Send events that arrive after the watermark has passed them to a side output. Without a
        side output, late events are dropped and counted in the metric ``numLateRecordsDropped``.

        Raises:
            JobDefinitionError: the argument is not an `OutputTag`.
        """
        tag = checked_tag("side_output_late_data", late_data_output_tag)
        return self._with(replace(self._search, late_tag=tag))

    def limit_partial_matches(
        self, most: int, on_overflow: PartialMatchOverflow = PartialMatchOverflow.FAIL
    ) -> Self:
        """Limit the number of partial matches of a key; each rule has its own limit. There is no
        limit by default. The metric ``numPartialMatches`` counts the partial matches of all keys.
        (Flink has no such limit; Esper has one for its whole engine.)

        Args:
            most: maximum number of partial matches of a key, at least 1.
            on_overflow: whether the job fails, with the key in the message, or the partial matches
                that began last are dropped and counted in ``numPartialMatchesDropped``.

        Raises:
            JobDefinitionError: an argument is not such a number, or not a `PartialMatchOverflow`.
        """
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise JobDefinitionError(
                f"limit_partial_matches() takes a whole number of at least 1, got {most!r}"
            )
        if not isinstance(on_overflow, PartialMatchOverflow):
            raise JobDefinitionError(
                "limit_partial_matches() takes PartialMatchOverflow.FAIL or "
                f"PartialMatchOverflow.DROP, got {on_overflow!r}"
            )
        return self._with(replace(self._search, limit=PartialMatchLimit(most, on_overflow)))

    # -- what is made of matches -------------------------------------------------------

    def process(
        self,
        pattern_process_function: PatternProcessFunction[T, U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """A stream with any number of records per match, and with side outputs.

        Partial matches that time ended go to the function too if it is also a
        `TimedOutPartialMatchHandler`.

        Raises:
            JobDefinitionError: it is no `PatternProcessFunction`, its methods take other arguments,
                or it has a method for timeouts but is no `TimedOutPartialMatchHandler`.
        """
        check_process_function(pattern_process_function)
        return self._found(pattern_process_function, output_type)

    def select(
        self,
        pattern_select_function: SelectFunction[T, U],
        output_type: TypeInformation[Any] | None = None,
        timed_out_tag: OutputTag[V] | None = None,
        timeout_function: TimeoutFunction[T, V] | None = None,
    ) -> DataStream[U]:
        """A stream with one record per match.

        Args:
            pattern_select_function: function of a match.
            output_type: type of the records.
            timed_out_tag: the side output for partial matches that time ended.
            timeout_function: makes its records, of the partial match and the time (ms since the
                epoch) when it was over.

        Raises:
            JobDefinitionError: one of the functions is of another kind, or only one of the last
                two is given.
        """
        check_function("select", pattern_select_function, PatternSelectFunction)
        tag = checked_timeout("select", timed_out_tag, timeout_function, PatternTimeoutFunction)
        if tag is None:
            return self._found(Select(pattern_select_function), output_type)
        function = SelectWithTimeout(pattern_select_function, timeout_function, tag)
        return self._found(function, output_type)

    def flat_select(
        self,
        pattern_flat_select_function: FlatSelectFunction[T, U],
        output_type: TypeInformation[Any] | None = None,
        timed_out_tag: OutputTag[V] | None = None,
        timeout_function: FlatTimeoutFunction[T, V] | None = None,
    ) -> DataStream[U]:
        """A stream with all records that the function returns or yields for each match. See
        `select`; the timeout function may also give any number of records."""
        check_function("flat_select", pattern_flat_select_function, PatternFlatSelectFunction)
        tag = checked_timeout(
            "flat_select", timed_out_tag, timeout_function, PatternFlatTimeoutFunction
        )
        if tag is None:
            return self._found(FlatSelect(pattern_flat_select_function), output_type)
        function = FlatSelectWithTimeout(pattern_flat_select_function, timeout_function, tag)
        return self._found(function, output_type)

    def _with(self, search: Search) -> Self:
        return type(self)(self._stream, search)

    def _found(
        self, function: PatternProcessFunction[Any, Any], output_type: TypeInformation[Any] | None
    ) -> DataStream[Any]:
        stream, search = self._stream, self._search
        keyed = isinstance(stream, KeyedStream)
        keyed_stream = stream if isinstance(stream, KeyedStream) else stream.key_by(_one)
        factory = search.operator(function, keyed_stream._key_batch, keyed)
        inputs = search.inputs(keyed_stream)
        matches = keyed_stream._then(search.name(), factory, function, inputs, output_type)
        return matches if keyed else matches.force_non_parallel()


def _one(value: Any) -> int:
    """The key of all events of a stream without keys."""
    return 0
