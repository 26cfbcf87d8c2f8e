"""A stream in which patterns are looked for that come and go while the job runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar

from millrace.cep.function_checks import checked_tag
from millrace.cep.pattern_stream import KeyBatch, PatternStream, Search
from millrace.cep.rules.rule_form import read_rule
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import PatternProcessFunction
from millrace.datastream.connected_streams import numbered
from millrace.datastream.keyed_stream import KeyedStream
from millrace.datastream.stream import DataStream
from millrace.plan.transformation import Input
from millrace.runtime.cep.pattern_rule import RejectedRule
from millrace.runtime.operator import Operator
from millrace.runtime.operators.dynamic_cep import DynamicCepOperator
from millrace.runtime.operators.timeless import TimelessOperator

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RuleSearch(Search):
    """The patterns of the rules in a stream are looked for."""

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
        # one subtask hands all rules on, so that all get them in the same order
        rules = self.rules._then("Rules", TimelessOperator, None).force_non_parallel()
        # first, so that within an epoch the rules are there before the records they are for
        return numbered(rules.broadcast(), 1) + numbered(stream, 0)


class DynamicPatternStream(PatternStream[T]):
    """The matches of rules in a stream; made by `CEP.dynamic_pattern`. See `PatternStream`.

    Functions get each match as a `RuleMatch`: a dict as of any other pattern, which also names the
    rule and its version.

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

    def side_output_rejected_rules(self, rejected_rule_tag: OutputTag[RejectedRule]) -> Self:
        """Where `RejectedRule` objects go, for what was sent as a rule but is none. Either way it
        is logged and counted in the metric ``numRejectedRules``; the job goes on without it.

        Raises:
            JobDefinitionError: it is no `OutputTag`.
        """
        tag = checked_tag("side_output_rejected_rules", rejected_rule_tag)
        assert isinstance(self._search, RuleSearch)
        return self._with(replace(self._search, rejected_tag=tag))
