"""What `match` answers is what the operator would emit."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    MalformedPatternError,
    Pattern,
    PatternProcessFunction,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from millrace.common.errors import JobDefinitionError
from millrace.runtime.cep.partial_match import Matches
from millrace.testing import OperatorHarness, match, trace


class Charge(NamedTuple):
    kind: str
    card: str


def letter(wanted: str) -> Any:
    return lambda value: value[0] == wanted


def a_then_b(**skip: Any) -> Pattern:
    pattern = Pattern.begin("a", **skip).where(letter("a"))
    return pattern.followed_by("b").where(letter("b"))


def test_events_without_times_are_in_their_order() -> None:
    result = match(a_then_b(), ["b1", "a2", "x3", "b4"])
    assert result.matches == [{"a": ["a2"], "b": ["b4"]}]
    assert [found.timestamp for found in result.found] == [3]
    assert result.timed_out == []


def test_events_are_ordered_by_their_times() -> None:
    assert match(a_then_b(), ["b1", "a2"], timestamps=[20, 10]).matches == [
        {"a": ["a2"], "b": ["b1"]}
    ]
    assert match(a_then_b(), [("b", 7), ("a", 5)], timestamps=lambda value: value[1]).matches == [
        {"a": [("a", 5)], "b": [("b", 7)]}
    ]


def test_a_comparator_orders_events_of_the_same_time() -> None:
    by_number = lambda one, other: int(one[1]) - int(other[1])  # noqa: E731
    events = ["b2", "a1", "b3"]
    assert match(a_then_b(), events, timestamps=[5, 5, 5]).matches == [{"a": ["a1"], "b": ["b3"]}]
    compared = match(a_then_b(), events, timestamps=[5, 5, 5], comparator=by_number)
    assert compared.matches == [{"a": ["a1"], "b": ["b2"]}]


def test_skipping_goes_by_the_order_in_which_events_are_taken() -> None:
    """Not by that in which they were given."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = a_then_b(after_match_skip_strategy=skip)
    result = match(pattern, ["b4", "a3", "b2", "a1"], timestamps=[4, 3, 2, 1])
    assert result.matches == [{"a": ["a1"], "b": ["b2"]}, {"a": ["a3"], "b": ["b4"]}]


def test_every_key_is_matched_alone() -> None:
    result = match(a_then_b(), ["a1", "a2", "b2", "b1"], key=lambda value: value[1])
    assert [(found.key, found.events["a"]) for found in result.found] == [
        ("2", ["a2"]),
        ("1", ["a1"]),
    ]


def test_time_comes_to_the_watermark() -> None:
    pattern = a_then_b().within(10)
    before, at_end = (match(pattern, ["a1"], timestamps=[5], watermark=w) for w in (14, 15))
    assert before.timed_out == []
    assert at_end.timed_out == [{"a": ["a1"]}]
    assert [over.timestamp for over in at_end.over] == [15]
    assert match(a_then_b(), ["a1", "b2"], timestamps=[5, 6], watermark=5).matches == []


def test_what_must_not_follow_is_decided_at_the_end() -> None:
    pattern = Pattern.begin("a").where(letter("a")).not_followed_by("b").where(letter("b"))
    pattern = pattern.within(10)
    assert match(pattern, ["a1", "b2", "a3"], timestamps=[0, 5, 7]).matches == [{"a": ["a3"]}]
    assert match(pattern, ["a1"], timestamps=[0], watermark=9).matches == []


def test_processing_time_takes_events_as_they_come() -> None:
    times = [0, 5, 5]
    taken = match(a_then_b(), ["x1", "a2", "b3"], timestamps=times, event_time=False)
    assert taken.matches == [{"a": ["a2"], "b": ["b3"]}]
    with pytest.raises(JobDefinitionError, match="in the order of their times"):
        match(a_then_b(), ["a1", "b2"], timestamps=[5, 4], event_time=False)


def test_conditions_see_the_clock() -> None:
    pattern = Pattern.begin("a").where(lambda value, ctx: ctx.current_processing_time() == 77)
    assert match(pattern, ["a1"]).matches == []
    assert match(pattern, ["a1"], clock=lambda: 77).matches == [{"a": ["a1"]}]


def test_rich_conditions_are_opened_and_closed() -> None:
    class Rich(RichIterativeCondition[str]):
        life = ""

        def open(self, runtime_context: Any) -> None:
            self.life += f"open {runtime_context.get_index_of_this_subtask()} "

        def filter(self, value: str, ctx: Any) -> bool:
            return self.life == "open 0 "

        def close(self) -> None:
            self.life += "close"

    condition = Rich()
    assert match(Pattern.begin("a").where(condition), ["a1"]).matches == [{"a": ["a1"]}]
    assert condition.life == "open 0 close"


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(JobDefinitionError, match="2 events and 1 timestamps"):
        match(a_then_b(), ["a1", "b2"], timestamps=[1])
    with pytest.raises(MalformedPatternError, match="within"):
        match(Pattern.begin("a").not_followed_by("b"), [])


@pytest.mark.parametrize("ask", [match, trace])
@pytest.mark.parametrize("key", [1, "card", lambda value: value.card, ("card",)])
def test_keys_are_told_as_for_key_by(ask: Any, key: Any) -> None:
    events = [Charge("a", "1"), Charge("a", "2"), Charge("b", "2"), Charge("b", "1")]
    pattern = Pattern.begin("a").where(lambda value: value.kind == "a")
    pattern = pattern.next("b").where(lambda value: value.kind == "b")
    assert len(ask(pattern, events, key=key).matches) == 2


def test_a_comparator_orders_an_instant_of_processing_time() -> None:
    by_letter = lambda one, other: (one > other) - (one < other)  # noqa: E731
    times = {"event_time": False, "comparator": by_letter}
    assert match(a_then_b(), ["b1", "a1"], timestamps=[5, 5], **times).matches
    assert not match(a_then_b(), ["b1", "a1"], timestamps=[5, 6], **times).matches


def test_a_comparator_may_be_an_object() -> None:
    class Backwards:
        def compare(self, one: str, other: str) -> int:
            return (one < other) - (one > other)

    result = match(a_then_b(), ["a1", "b2"], timestamps=[5, 5], comparator=Backwards())
    assert result.matches == []


def test_the_clock_stays_where_the_last_event_has_put_it() -> None:
    """Unlike event time, which comes to its end with the input."""
    pattern, times = a_then_b().within(10), [0, 5, 11]
    events = ["a1", "a2", "x3"]
    told = match(pattern, events, timestamps=times, event_time=False)
    assert told.timed_out == [{"a": ["a1"]}]
    told = match(pattern, events, timestamps=times, event_time=False, watermark=15)
    assert told.timed_out == [{"a": ["a1"]}, {"a": ["a2"]}]
    assert match(pattern, [], event_time=False).matches == []


def test_times_may_come_from_an_iterator() -> None:
    result = match(a_then_b(), ["a1", "b2"], timestamps=iter([7, 9]))
    assert [found.timestamp for found in result.found] == [9]


@pytest.mark.parametrize("ask", [match, trace])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "x"}, "a Pattern such as .* got 'x'"),
        ({"pattern": Pattern}, "a Pattern such as"),
        ({"events": 5}, "events are given as a list or the like, got 5"),
        ({"timestamps": [1, None]}, "timestamp of the event 'b2' is None, but"),
        ({"timestamps": lambda value: value}, "timestamp of the event 'a1' is 'a1'"),
        ({"timestamps": [1.0, 2.0]}, "timestamp of the event 'a1' is 1.0"),
        ({"timestamps": 7}, "timestamps are given as a list or the like, got 7"),
        ({"key": lambda value: [value]}, r"the key \['a1'\] is of a type that cannot be a key"),
        ({"key": 1.5}, "key_by takes a callable"),
        ({"comparator": "x"}, "the comparator must be a callable"),
        ({"watermark": "x"}, "the watermark is 'x'"),
    ],
)
def test_wrong_arguments_are_named(ask: Any, arguments: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        ask(**{"pattern": a_then_b(), "events": ["a1", "b2"], **arguments})


def test_partial_matches_are_copied_for_observers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Matches] = []

    class Counted(Matches):
        def __init__(self, *lists: Any) -> None:
            super().__init__(*lists)
            made.append(self)

    monkeypatch.setattr("millrace.testing.pattern_run.Matches", Counted)
    match(a_then_b(), ["a1", "b2", "b3"])
    assert len(made) == 1


@pytest.mark.parametrize("ask", [match, trace])
def test_an_error_names_the_pattern_and_the_event(ask: Any) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        ask(Pattern.begin("broken").where(lambda value: 1 / value > 0), [1, 0])
    assert "'broken'" in str(caught.value.__notes__)
    assert "event 0" in str(caught.value.__notes__)


class Telling(PatternProcessFunction[str, Any], TimedOutPartialMatchHandler[str]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield "found", match, ctx.timestamp(), ctx.get_current_key()

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield "over", match, ctx.timestamp(), ctx.get_current_key()


PATTERNS = [
    a_then_b(),
    a_then_b().within(5),
    a_then_b(after_match_skip_strategy=AfterMatchSkipStrategy.skip_past_last_event()).within(4),
    a_then_b().within(3, WithinType.PREVIOUS_AND_CURRENT),
    Pattern.begin("a").where(letter("a")).one_or_more().not_followed_by("b").where(letter("b"))
    .within(4),
]  # fmt: skip
EVENTS = st.lists(
    st.tuples(st.sampled_from("abx"), st.sampled_from("12"), st.integers(0, 12)), max_size=12
)


def _moment(told: Any) -> Any:
    return told[1:]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PATTERNS), EVENTS, st.integers(0, 20))
def test_it_answers_as_the_operator_does(pattern: Pattern, events: Any, watermark: int) -> None:
    harness = OperatorHarness(
        lambda stream: CEP.pattern(stream.key_by(1), pattern).process(Telling())
    )
    for event in events:
        harness.process_element(event, event[2])
    harness.process_watermark(watermark)
    emitted = harness.output()
    result = match(
        pattern,
        events,
        timestamps=lambda value: value[2],
        key=lambda value: value[1],
        watermark=watermark,
    )
    for word, told in (("found", result.found), ("over", result.over)):
        # which key comes first at one moment is left open
        expected = sorted((record[1:] for record in emitted if record[0] == word), key=_moment)
        assert sorted(((m.events, m.timestamp, m.key) for m in told), key=_moment) == expected
