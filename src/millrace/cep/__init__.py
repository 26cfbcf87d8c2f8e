"""Complex event processing: patterns to look for in streams of events.

Semantics: Flink docs, "FlinkCEP". Names are Flink's, in snake case.
"""

from __future__ import annotations

from millrace.cep.cep import CEP
from millrace.cep.comparator import EventComparator
from millrace.cep.dynamic_pattern_stream import DynamicPatternStream
from millrace.cep.pattern import GroupPattern, Pattern
from millrace.cep.pattern_stream import PatternStream
from millrace.cep.rules import Rule, RuleChange, RuleMatch
from millrace.common.errors import MalformedPatternError
from millrace.common.functions.pattern_conditions import (
    IterativeCondition,
    RichIterativeCondition,
    SimpleCondition,
)
from millrace.common.functions.pattern_functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.partial_match_limit import PartialMatchOverflow
from millrace.runtime.cep.pattern_model import WithinType

__all__ = [
    "AfterMatchSkipStrategy",
    "CEP",
    "DynamicPatternStream",
    "EventComparator",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "PartialMatchOverflow",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "RichIterativeCondition",
    "Rule",
    "RuleChange",
    "RuleMatch",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
