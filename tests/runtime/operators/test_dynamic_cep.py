"""The operator that finds the patterns of rules, which come and go."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Any

import pytest
from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    PartialMatchOverflow,
    Pattern,
    PatternProcessFunction,
    RichIterativeCondition,
    Rule,
    RuleChange,
    TimedOutPartialMatchHandler,
    WithinType,
)
from millrace.cep.rules import RejectedRule, field_condition, rule_to_json
from millrace.common.errors import JobExecutionError, MalformedPatternError
from millrace.common.functions.output_tag import OutputTag
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.operators.cep import CepOperator
from millrace.state.key_groups import key_group_of, subtask_of
from millrace.state.table_id import TableId
from millrace.testing import OperatorHarness

OVER = OutputTag("over")
LATE = OutputTag("late")
REJECTED = OutputTag("rejected")


def is_(letter: str) -> Any:
    """Events are (key, letter and number)."""
    return field_condition({"field": 1, "op": "starts with", "value": letter})


def then(*letters: str) -> Pattern:
    pattern = Pattern.begin(letters[0]).where(is_(letters[0]))
    for letter in letters[1:]:
        pattern = pattern.followed_by(letter).where(is_(letter))
    return pattern


AB = Rule("ab", 1, then("a", "b"))
AC = Rule("ac", 1, then("a", "c").within(10))


class Tell(PatternProcessFunction[Any, str], TimedOutPartialMatchHandler[Any]):
    """Matches as text: key, rule, events, time."""

    def process_match(self, match: Any, ctx: Any) -> Any:
        events = " ".join(value[1] for values in match.values() for value in values)
        name = f"{match.rule}{match.version}"
        yield f"{ctx.get_current_key()}: {name} {events} @{ctx.timestamp()}"

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        for result in self.process_match(match, ctx):
            yield OVER, result


def harness(*rules: Any, event_time: bool = True, **options: Any) -> OperatorHarness:
    def build(stream: Any) -> Any:
        env = stream.get_execution_environment()
        rules_stream = env.from_collection([])
        found = CEP.dynamic_pattern(stream.key_by(itemgetter(0)), rules_stream)
        found = found.side_output_rejected_rules(REJECTED).side_output_late_data(LATE)
        return (found if event_time else found.in_processing_time()).process(Tell())

    job = OperatorHarness(build, **options)
    send(job, *rules)
    return job


def send(job: OperatorHarness, *rules: Any) -> None:
    for rule in rules:
        job.process_broadcast_element(rule)


def events(job: OperatorHarness, *values: str, key: str = "k", start: int = 1) -> None:
    """Events at the times from ``start`` on, one by one."""
    for time, value in enumerate(values, start=start):
        job.process_element((key, value), time)
        job.process_watermark(time)


def test_each_match_names_its_rule() -> None:
    job = harness(AB, AC)
    events(job, "a1", "x", "b1", "c1")
    assert job.output() == ["k: ab1 a1 b1 @3", "k: ac1 a1 c1 @4"]
    assert [record.timestamp for record in job.records()] == [3, 4]


LOOP = Pattern.begin("a").where(is_("a")).one_or_more().followed_by("b").where(is_("b"))


@pytest.mark.parametrize("pattern", [then("a", "b"), LOOP])
def test_partial_matches_are_limited_rule_by_rule(pattern: Any) -> None:
    """Rules whose matches only begin with an event have a way of their own."""

    def build(stream: Any, overflow: PartialMatchOverflow) -> Any:
        rules = stream.get_execution_environment().from_collection([])
        found = CEP.dynamic_pattern(stream.key_by(itemgetter(0)), rules)
        return found.limit_partial_matches(2, overflow).process(Tell())

    job = OperatorHarness(partial(build, overflow=PartialMatchOverflow.DROP))
    send(job, Rule("r", 1, pattern), AC)
    events(job, "a1", "a2", "a3", "a4")
    job.snapshot()
    assert job.metric("numPartialMatches") == 4
    assert job.metric("numPartialMatchesDropped") >= 4
    job = OperatorHarness(partial(build, overflow=PartialMatchOverflow.FAIL))
    send(job, Rule("r", 1, pattern))
    with pytest.raises(JobExecutionError, match="key 'k' has 3 partial matches of rule 'r', more"):
        events(job, "a1", "a2", "a3", "a4")


def test_without_rules_nothing_is_found_or_kept() -> None:
    job = harness()
    events(job, "a1", "b1")
    job.snapshot()
    assert job.entries() == 0


def test_rules_are_added_while_events_wait() -> None:
    job = harness()
    job.process_elements([("k", "a1"), ("k", "b1")], [1, 2])
    send(job, AB)
    job.process_watermark(2)
    assert job.output() == ["k: ab1 a1 b1 @2"]


def test_a_higher_version_replaces_the_rule_and_drops_its_partial_matches() -> None:
    job = harness(AB, AC)
    events(job, "a1")
    send(job, Rule("ab", 2, then("a", "x", "b")), Rule("ac", 1, then("c")))
    events(job, "x", "b1", "c1", "a2", "x", "b2", start=2)
    assert job.output() == ["k: ac1 a1 c1 @4", "k: ab2 a2 x b2 @7"]
    assert job.metric("numIgnoredRules") == 1
    send(job, AB)
    events(job, "a", "b", start=20)
    assert job.metric("numIgnoredRules") == 2
    assert job.metric("numRules") == 2
    assert len(job.output()) == 2


@pytest.mark.parametrize("restored", [False, True])
def test_a_rule_is_disabled_and_enabled(restored: bool) -> None:
    def go_on() -> OperatorHarness:
        return job.restored(job.snapshot()) if restored else job

    job = harness(AB, AC)
    events(job, "a1")
    job = go_on()
    send(job, RuleChange.disable("ab"), RuleChange.disable("ab"))
    job = go_on()
    events(job, "b1", "a2", start=2)
    job = go_on()
    send(job, RuleChange.enable("ab"), RuleChange.enable("ab"))
    events(job, "b2", "a3", "b3", start=4)
    assert job.output() == ["k: ab1 a3 b3 @6"]
    job = go_on()
    events(job, "c1", start=7)
    assert job.output()[-3:] == [f"k: ac1 {a} c1 @7" for a in ("a1", "a2", "a3")]


def test_a_rule_is_removed() -> None:
    job = harness(AB)
    events(job, "a1")
    job.snapshot()
    assert job.entries() > 2
    send(job, RuleChange.remove("ab"), RuleChange.remove("ab"), RuleChange.remove("none"))
    reasons = [rejected.reason for rejected in job.side_output(REJECTED)]
    assert reasons == [f"there is no rule {id!r} to remove" for id in ("ab", "none")]
    job.snapshot()
    assert job.entries() == 1, "only how many rules there were"
    events(job, "b1", start=2)
    send(job, AB)
    events(job, "b1", "a1", "b2", start=3)
    assert job.output() == ["k: ab1 a1 b2 @5"]


def test_a_rule_may_come_disabled() -> None:
    job = harness(Rule("ab", 1, then("a", "b"), enabled=False))
    events(job, "a1", "b1")
    send(job, RuleChange.enable("ab"))
    events(job, "a2", "b2", start=3)
    assert job.output() == ["k: ab1 a2 b2 @4"]


def test_rules_are_for_keys_that_begin_so() -> None:
    job = harness(Rule("ab", 1, then("a", "b"), "eu-"), Rule("b", 1, then("b")))
    for key in ("eu-1", "us-1", "eu-2"):
        job.process_elements([(key, "a1"), (key, "b1")], [1, 2])
    job.process_watermark(2)
    assert sorted(job.output()) == [
        "eu-1: ab1 a1 b1 @2", "eu-1: b1 b1 @2", "eu-2: ab1 a1 b1 @2", "eu-2: b1 b1 @2",
        "us-1: b1 b1 @2",
    ]  # fmt: skip


def test_rules_come_as_json_too() -> None:
    form = rule_to_json(AB)
    job = harness(json.dumps(form), form | {"version": 2}, json.dumps(form).encode())
    events(job, "a1", "b1")
    assert job.output() == ["k: ab2 a1 b1 @2"]
    send(job, '{"format": 1, "rule": "ab", "action": "remove"}')
    events(job, "a1", "b1", start=3)
    assert len(job.output()) == 1


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("no")


def test_what_is_no_rule_is_told_and_the_job_goes_on() -> None:
    job = harness(AB, "{", {"format": 1}, 5, Unspeakable(), RuleChange.enable("none"))
    send(job, rule_to_json(AB) | {"version": 2, "pattern": {"parts": [{"name": "x" * 2000}] * 2}})
    events(job, "a1", "b1")
    assert job.output() == ["k: ab1 a1 b1 @2"]
    told = job.side_output(REJECTED)
    assert [type(rejected) for rejected in told] == [RejectedRule] * 6
    assert job.metric("numRejectedRules") == 6
    assert told[0].given == "{"
    assert "the rule is not JSON" in told[0].reason
    assert told[1].reason == "the rule: 'rule' is missing"
    assert told[3].given == "a Unspeakable"
    assert told[4].reason == "there is no rule 'none' to enable"
    assert "pattern.parts[1]: two patterns are named" in told[5].reason
    assert len(told[5].given) == 1000


def test_only_one_subtask_tells_of_rejected_rules() -> None:
    job = harness(5, AB, AB, subtask_index=1, parallelism=2)
    assert job.side_output(REJECTED) == []
    assert [job.metric(f"num{name}Rules") for name in ("Rejected", "Ignored", "")] == [0, 0, 0]


def test_time_ends_partial_matches() -> None:
    job = harness(AB, AC)
    events(job, "a1")
    events(job, "a2", key="l", start=3)
    job = job.restored(job.snapshot())
    job.process_watermark(10)
    assert job.side_output(OVER) == []
    job.process_watermark(11)
    assert job.side_output(OVER) == ["k: ac1 a1 @11"]
    events(job, "c1", key="k", start=12)
    events(job, "c2", key="l", start=14)
    assert job.side_output(OVER) == ["k: ac1 a1 @11", "l: ac1 a2 @13"]
    assert job.output() == []


def test_processing_time() -> None:
    job = harness(AC, event_time=False)
    job.process_elements([("k", "a1"), ("l", "a2"), ("k", "c1")])
    assert job.output() == ["k: ac1 a1 c1 @0"]
    assert job.next_wakeup() == 10
    job.set_processing_time(10)
    assert job.side_output(OVER) == ["l: ac1 a2 @10"]


def test_late_events() -> None:
    job = harness(AB)
    job.process_watermark(5)
    job.process_element(("k", "a1"), 5)
    assert job.side_output(LATE) == [("k", "a1")]


def test_an_aborted_epoch_leaves_nothing() -> None:
    job = harness(AB)
    events(job, "a1")
    job.snapshot()
    send(job, Rule("ab", 2, then("b")), AC, RuleChange.remove("ab"))
    events(job, "b1", "a2", start=2)
    job.abort()
    events(job, "b1", "c1", start=2)
    assert job.output() == ["k: ab1 a1 b1 @2"]


def test_an_event_is_kept_once_for_all_rules() -> None:
    rules = [Rule(f"r{n}", 1, then("a", "b").within(10 + n)) for n in range(20)]
    job = harness(*rules)
    events(job, "a1")
    job.snapshot()
    table = job.operator.context.state.tables[TableId("operator", "@matched-events")]
    assert table.entry_count() == 1
    job.process_watermark(11)
    job.snapshot()
    assert table.entry_count() == 1, "others still need it"
    job.process_watermark(40)
    job.snapshot()
    assert job.entries() == 21, "rules and how many there were"


class Opened(RichIterativeCondition[Any]):
    log: list[str] = []  # noqa: RUF012

    def open(self, runtime_context: Any) -> None:
        self.log.append("open")

    def close(self) -> None:
        self.log.append("close")

    def filter(self, value: Any, ctx: Any) -> bool:
        return len(ctx.get_events_for_pattern("a")) == 1


def test_conditions_that_are_rich_are_opened_and_closed() -> None:
    Opened.log.clear()
    pattern = then("a").followed_by("b").where(Opened())
    job = harness(Rule("ab", 1, pattern), Rule("b", 1, then("b")))
    events(job, "a1", "b1")
    assert job.output() == ["k: ab1 a1 b1 @2", "k: b1 b1 @2"]
    assert Opened.log == ["open"]
    send(job, RuleChange.remove("ab"))
    assert Opened.log == ["open", "close"]


def broken(value: Any) -> bool:
    return bool(value[2])


@pytest.mark.parametrize(
    "pattern",
    [
        Pattern.begin("b").where(broken),
        Pattern.begin("b").where(field_condition({"field": 1, "op": "==", "value": "b1"}))
        .where(broken),
        then("a").followed_by("b").where(broken),
    ],
)  # fmt: skip
def test_an_error_of_a_condition_names_the_rule(pattern: Pattern) -> None:
    job = harness(Rule("bad", 3, pattern))
    with pytest.raises(IndexError) as caught:
        events(job, "a1", "b1")
    notes = "\n".join(caught.value.__notes__)
    assert "raised by the condition of 'b'" in notes
    assert "the rule is 'bad', version 3" in notes


def test_a_condition_is_asked_only_of_events_that_its_turn_has_come_for() -> None:
    pattern = then("a", "b").followed_by("c").where(lambda value: value[2] == 1)
    job = harness(Rule("abc", 1, pattern))
    events(job, "a1", "x", "b1")
    job.process_element(("k", "c1", 1), 4)
    job.process_watermark(4)
    assert job.output() == ["k: abc1 a1 b1 c1 @4"]


def test_the_metadata_of_a_match_is_its_own() -> None:
    class Spoils(Tell):
        def process_match(self, match: Any, ctx: Any) -> Any:
            yield str(match.metadata)
            match.metadata["to"] = "nobody"

    def build(stream: Any) -> Any:
        rules = stream.get_execution_environment().from_collection([])
        return CEP.dynamic_pattern(stream.key_by(itemgetter(0)), rules).process(Spoils())

    job = OperatorHarness(build)
    send(job, Rule("a", 1, then("a"), metadata={"to": "ann"}))
    events(job, "a1", "a2")
    assert job.output() == ["{'to': 'ann'}"] * 2


# -- rules alone and together, restarted anywhere --------------------------------------------------

CONDITIONS = [
    is_("a"),
    is_("b"),
    field_condition({"field": 2, "op": "==", "value": 1}),
    field_condition({"and": [{"field": 2, "op": "in", "value": [0, 2]},
                             {"field": 1, "op": "!=", "value": "c"}]}),
    lambda value: value[2] > 1,
    lambda value, ctx: len(ctx.get_events_for_pattern("p0")) < 2,
    field_condition({"field": 2, "op": ">=", "value": {"field": 2, "of": "p0"}}),
    None,
]  # fmt: skip
ENDS = [is_("b"), lambda value: value[2] == 0]
WORDS = ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
SKIPS = [
    None,
    AfterMatchSkipStrategy.skip_to_next(),
    AfterMatchSkipStrategy.skip_past_last_event(),
    AfterMatchSkipStrategy.skip_to_last("p0"),
]


@st.composite
def patterns(draw: Any) -> Pattern:
    def finished(part: Pattern) -> Pattern:
        condition = draw(st.sampled_from(CONDITIONS))
        return part if condition is None else part.where(condition)

    pattern = finished(Pattern.begin("p0", draw(st.sampled_from(SKIPS))))
    loop = draw(st.sampled_from(["once", "twice", "loop", "ended"]))
    if loop == "twice":
        pattern = pattern.times(draw(st.integers(1, 2)))
    elif loop != "once":
        pattern = pattern.one_or_more()
    if loop == "ended":
        pattern = pattern.until(draw(st.sampled_from(ENDS)))
    maybe = draw(st.booleans())
    if maybe:
        pattern = pattern.optional()
    for number in range(1, draw(st.integers(1, 3))):
        word = draw(st.sampled_from(WORDS[:3] if maybe and number == 1 else WORDS))
        pattern = finished(getattr(pattern, word)(f"p{number}"))
        if not word.startswith("not_"):
            quantifier = draw(st.sampled_from(["once", "loop", "maybe"]))
            pattern = pattern.one_or_more() if quantifier == "loop" else pattern
            if quantifier == "maybe" and number > 1:
                pattern = _maybe(pattern)
            if draw(st.integers(0, 3)) == 0:
                gap = draw(st.integers(1, 4))
                pattern = pattern.within(gap, WithinType.PREVIOUS_AND_CURRENT)
    within = draw(st.none() | st.integers(2, 8))
    return pattern if within is None else pattern.within(within)


def _maybe(pattern: Pattern) -> Pattern:
    try:
        return pattern.optional()
    except MalformedPatternError:
        return pattern


def compiles(pattern: Pattern) -> bool:
    try:
        Automaton(pattern.model())
    except MalformedPatternError:
        return False
    return True


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["k", "l"]),
        st.sampled_from(["a1", "b1", "c"]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=12,
)


def run(rules: list[Rule], stream: Iterable[tuple[Any, ...]], restart: int = 0) -> list[Any]:
    job = harness(*rules)
    output: list[Any] = []
    time = 0
    for number, (key, letter, value, later) in enumerate(stream):
        time += later
        job.process_element((key, letter, value), time)
        job.process_watermark(time - 1)
        if restart and number % restart == 0:
            output += [*job.output(), *(f"over {o}" for o in job.side_output(OVER))]
            job = job.restored(job.snapshot())
    job.process_watermark(time + 100)
    return [*output, *job.output(), *(f"over {o}" for o in job.side_output(OVER))]


@settings(max_examples=job_examples(30), deadline=None)
@given(st.lists(patterns().filter(compiles), min_size=1, max_size=4), EVENTS, st.integers(1, 4))
def test_together_as_alone_as_static_and_restarted(
    drawn: list[Pattern], stream: list[tuple[Any, ...]], restart: int
) -> None:
    rules = [Rule(f"r{number}-", 1, pattern) for number, pattern in enumerate(drawn)]
    together = sorted(run(rules, stream))
    assert together == sorted(out for rule in rules for out in run([rule], stream))
    assert together == sorted(out for rule in rules for out in static(rule, stream))
    assert together == sorted(run(rules, stream, restart))


def static(rule: Rule, stream: Iterable[tuple[Any, ...]]) -> list[str]:
    """What the operator of one pattern finds."""

    class Told(Tell):
        def process_match(self, match: Any, ctx: Any) -> Any:
            events = " ".join(value[1] for values in match.values() for value in values)
            yield f"{ctx.get_current_key()}: {rule.id}1 {events} @{ctx.timestamp()}"

    def build(source: Any) -> Any:
        keyed = source.key_by(itemgetter(0))
        function = Told()
        return keyed._then(
            "CEP", lambda: CepOperator(rule.pattern, function, keyed._key_batch), function
        )

    job = OperatorHarness(build)
    time = 0
    for key, letter, value, later in stream:
        time += later
        job.process_element((key, letter, value), time)
        job.process_watermark(time - 1)
    job.process_watermark(time + 100)
    return [*job.output(), *(f"over {o}" for o in job.side_output(OVER))]


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        (Pattern.begin("x").optional().followed_by("b").where(is_("b")), 2),
        (Pattern.begin("x").one_or_more().until(is_("b")), 1),
        (Pattern.begin("b").where(is_("b")).optional().followed_by("x"), 2),
    ],
)
def test_a_match_begins_in_each_way_on_its_own(pattern: Pattern, count: int) -> None:
    """That an event is what one first part asks for says nothing of the others."""
    rule = Rule("r", 1, pattern)
    stream = [("k", "c1", 1, 1), ("k", "b1", 1, 1)]
    assert sorted(run([rule], stream)) == sorted(static(rule, stream))
    assert len(run([rule], stream)) == count


def test_what_began_later_may_end_sooner() -> None:
    """Once the gap of what begins is shorter than what is left to the others."""
    pattern = then("a", "b").within(5, WithinType.PREVIOUS_AND_CURRENT).followed_by("c")
    rule = Rule("r", 1, pattern.where(is_("c")).within(100))
    events_ = [("k", "a1", 0, 1), ("k", "b1", 0, 1), ("k", "a2", 0, 1), ("k", "b2", 0, 17)]
    stream = [*events_, ("k", "c1", 0, 1)]
    assert sorted(run([rule], stream)) == sorted(static(rule, stream))
    assert "over k: r1 a2 @8" in run([rule], stream)


def test_rescaled() -> None:
    rules = [AB, Rule("ac", 1, then("a", "c").within(100))]
    keys = [f"key{n}" for n in range(12)]
    one = harness(*rules)
    one.process_elements([(key, "a1") for key in keys], [5] * 12)
    one.process_watermark(5)
    snapshot = one.snapshot()
    two = [one.restored(snapshot, subtask_index=n, parallelism=2) for n in (0, 1)]
    send_both = [RuleChange.disable("ab")]
    for number, job in enumerate(two):
        own = [key for key in keys if subtask_of(key_group_of(key, 128), 2, 128) == number]
        send(job, *send_both)
        job.process_elements([(key, "b1") for key in own], [6] * len(own))
        job.process_elements([(key, "c1") for key in own[:2]], [7] * 2)
        job.process_watermark(7)
        assert sorted(job.output()) == sorted(f"{key}: ac1 a1 c1 @7" for key in own[:2])
    snapshots = [job.snapshot() for job in two]
    again = two[0].restored(*snapshots)
    again.process_elements([(key, "c2") for key in keys], [8] * 12)
    again.process_watermark(8)
    assert len(again.output()) == 12 - 4
    send(again, RuleChange.enable("ab"))
    events(again, "a3", "b3", key="key0", start=9)
    assert again.output()[-1] == "key0: ab1 a3 b3 @10"


def test_after_a_restore_time_ends_what_it_would_have_ended() -> None:
    """Also for keys that are not looked at, and neither sooner nor later."""
    gap = then("a").followed_by("g").where(is_("g")).within(7, WithinType.PREVIOUS_AND_CURRENT)
    job = harness(
        AB, AC, Rule("ag", 1, gap), rule_to_json(Rule("az", 1, then("a", "z").within(30)))
    )
    for number, key in enumerate("klm"):
        job.process_element((key, f"a{number}"), 2 * number + 1)
    job.process_watermark(5)
    job = job.restored(job.snapshot())
    job.operator.restore()
    ended = {}
    for time in range(6, 40):
        job.process_watermark(time)
        ended[time] = len(job.side_output(OVER))
    assert [time for time in ended if ended[time] > ended.get(time - 1, 0)] == [
        8, 10, 11, 12, 13, 15, 31, 33, 35
    ]  # fmt: skip
