"""`DynamicPatternStream`: pattern detection with rules that are added and removed at runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar, cast

from millrace.cep.function_checks import checked_tag
from millrace.cep.match_functions import (
    FlatSelectFunction,
    FlatTimeoutFunction,
    SelectFunction,
    TimeoutFunction,
)
from millrace.cep.pattern_stream import KeyBatch, PatternStream, Search
from millrace.cep.rules.rule_form import read_rule
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import PatternProcessFunction
from millrace.common.types.typeinfo import TypeInformation
from millrace.datastream.connected_streams import numbered
from millrace.datastream.keyed_stream import KeyedStream
from millrace.datastream.stream import DataStream
from millrace.job_graph.transformation import Input
from millrace.runtime.cep.pattern_rule import RejectedRule, RuleMatch
from millrace.runtime.operator import Operator
from millrace.runtime.operators.dynamic_cep import DynamicCepOperator
from millrace.runtime.operators.timeless import TimelessOperator

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


@dataclass(frozen=True, kw_only=True)
class RuleSearch(Search):
    """Search for the patterns of rules that a second stream brings."""

    rules: DataStream[Any]
    rejected_tag: OutputTag[Any] | None = None

    def name(self) -> str:
        return "Dynamic Pattern"

    def operator(
        self, function: PatternProcessFunction[Any, Any], key_batch: KeyBatch, keyed: bool
    ) -> Callable[[], Operator]:
        return partial(
            DynamicCepOperator,
            read_rule,
            function,
            key_batch,
            self.comparator,
            self.late_tag,
            self.event_time,
            keyed,
            self.limit,
            self.rejected_tag,
        )

    def inputs(self, stream: KeyedStream[Any, Any]) -> list[Input]:
        # one subtask forwards all rules, so that all subtasks receive them in the same order
        rules = self.rules._then("Rules", TimelessOperator, None).force_non_parallel()
        # rules first: within an epoch they arrive before the records that they apply to
        return numbered(rules.broadcast(), 1) + numbered(stream, 0)


class DynamicPatternStream(PatternStream[T]):
    """The matches of a stream of rules; created by `CEP.dynamic_pattern`. See `PatternStream`.

    Functions are called with a `RuleMatch` per match: the dict of events that other patterns have
    too, with the rule's name and version.

    Example:
        >>> from millrace.cep import CEP, Pattern
        >>> from millrace.cep.rules import Rule
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> cards = env.from_collection([("ann", 5), ("ann", 900)]).key_by(0)
        >>> large = Pattern.begin("large").where(lambda value: value[1] > 500)
        >>> rules = env.from_collection([Rule("large", 1, large)])
        >>> alerts = CEP.dynamic_pattern(cards, rules).in_processing_time()
        >>> alerts.select(lambda match: (match.rule, match["large"][0])).get_name()
        'Dynamic Pattern'
    """

    def select(
        self,
        pattern_select_function: SelectFunction[T, U] | Callable[[RuleMatch], U],
        output_type: TypeInformation[Any] | None = None,
        timed_out_tag: OutputTag[V] | None = None,
        timeout_function: TimeoutFunction[T, V] | Callable[[RuleMatch, int], V] | None = None,
    ) -> DataStream[U]:
        """A stream with one record per match; see `PatternStream.select`."""
        select, timeout = cast(Any, pattern_select_function), cast(Any, timeout_function)
        return super().select(select, output_type, timed_out_tag, timeout)

    def flat_select(
        self,
        pattern_flat_select_function: FlatSelectFunction[T, U]
        | Callable[[RuleMatch], Iterable[U] | None],
        output_type: TypeInformation[Any] | None = None,
        timed_out_tag: OutputTag[V] | None = None,
        timeout_function: FlatTimeoutFunction[T, V]
        | Callable[[RuleMatch, int], Iterable[V] | None]
        | None = None,
    ) -> DataStream[U]:
        """A stream with any number of records per match; see `PatternStream.flat_select`."""
        select, timeout = cast(Any, pattern_flat_select_function), cast(Any, timeout_function)
        return super().flat_select(select, output_type, timed_out_tag, timeout)

    def side_output_rejected_rules(self, rejected_rule_tag: OutputTag[RejectedRule]) -> Self:
        """Send a `RejectedRule` to this side output for each record that is not a valid rule.

        With or without the side output, such a record is logged, counted in the metric
        ``numRejectedRules`` and otherwise ignored.

        Raises:
            JobDefinitionError: ``rejected_rule_tag`` is not an `OutputTag`.
        """
        tag = checked_tag("side_output_rejected_rules", rejected_rule_tag)
        assert isinstance(self._search, RuleSearch)
        return self._with(replace(self._search, rejected_tag=tag))
