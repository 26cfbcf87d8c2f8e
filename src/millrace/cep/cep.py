"""`CEP`: applies patterns to streams.

Semantics: Flink docs, "FlinkCEP", section Detecting Patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millrace.cep.comparator import EventComparator, checked_comparator
from millrace.cep.dynamic_pattern_stream import DynamicPatternStream, RuleSearch
from millrace.cep.pattern import Pattern
from millrace.cep.pattern_stream import PatternSearch, PatternStream
from millrace.common.errors import JobDefinitionError
from millrace.datastream.connected_streams import checked_same_environment
from millrace.datastream.stream import DataStream
from millrace.runtime.cep.automaton import Automaton

T = TypeVar("T")


class CEP:
    """Detects patterns in streams. Flink: class ``CEP``."""

    @staticmethod
    def pattern(
        input: DataStream[T],
        pattern: Pattern,
        comparator: EventComparator | Callable[[T, T], int] | None = None,
    ) -> PatternStream[T]:
        """Detect a pattern in the events of each key.

        In a stream without keys it is detected in all events, in one subtask.

        Args:
            input: the events.
            pattern: the pattern to detect.
            comparator: orders events of the same time: a callable that returns a negative number,
                zero or a positive one, or an object with such a method ``compare``. Without, and
                where it returns zero, they are in the order they arrive in.

        Raises:
            JobDefinitionError: an argument is of another type.
            MalformedPatternError: the pattern contradicts itself.

        Example:
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> cards = env.from_collection([("ann", 5), ("ann", 900)]).key_by(0)
            >>> pattern = Pattern.begin("small").where(lambda value: value[1] < 10)
            >>> pattern = pattern.next("large").where(lambda value: value[1] > 500)
            >>> alerts = CEP.pattern(cards, pattern).select(lambda match: match["large"][0])
        """
        if not isinstance(input, DataStream):
            raise JobDefinitionError(f"CEP.pattern() takes a stream, got {input!r}")
        if not isinstance(pattern, Pattern):
            raise JobDefinitionError(
                f"CEP.pattern() takes a Pattern such as Pattern.begin('a'), got {pattern!r}"
            )
        model = pattern.model()
        Automaton(model)  # raises if the pattern contradicts itself
        search = PatternSearch(pattern=model, comparator=checked_comparator(comparator))
        return PatternStream(input, search)

    @staticmethod
    def dynamic_pattern(
        input: DataStream[T],
        rules: DataStream[Any],
        comparator: EventComparator | Callable[[T, T], int] | None = None,
    ) -> DynamicPatternStream[T]:
        """Detect the patterns of rules that arrive in a second stream.

        Rules can be added, replaced, disabled and removed while the job runs. Flink's open-source
        library has no counterpart.

        Args:
            input: the events; see `pattern`.
            rules: `Rule` and `RuleChange` objects, or their JSON as text or dict. The
                stream needs no event time, and its watermarks hold nothing back.
            comparator: see `pattern`.

        Raises:
            JobDefinitionError: an argument is of another type, or the streams are of two jobs.

        Example:
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> cards = env.from_collection([{"card": "ann", "amount": 900}])
            >>> large = {"field": "amount", "op": ">", "value": 500}
            >>> rule = {
            ...     "format": 1,
            ...     "rule": "large",
            ...     "version": 1,
            ...     "pattern": {"parts": [{"name": "large", "where": large}]},
            ... }
            >>> stream = CEP.dynamic_pattern(cards.key_by("card"), env.from_collection([rule]))
            >>> alerts = stream.select(lambda match: f"{match.rule}: {match['large'][0]}")
        """
        if not isinstance(input, DataStream):
            raise JobDefinitionError(f"CEP.dynamic_pattern() takes a stream, got {input!r}")
        if not isinstance(rules, DataStream):
            raise JobDefinitionError(
                f"CEP.dynamic_pattern() takes its rules as a stream, got {rules!r}; a list becomes "
                "one with env.from_collection([...])"
            )
        checked_same_environment("CEP.dynamic_pattern", input, rules)
        search = RuleSearch(rules=rules, comparator=checked_comparator(comparator))
        return DynamicPatternStream(input, search)
