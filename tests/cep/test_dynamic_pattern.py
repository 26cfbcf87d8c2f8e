"""`CEP.dynamic_pattern` in whole jobs: time, faults, and rules that come while it runs."""

from __future__ import annotations

import pytest
from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.cep import CEP, DynamicPatternStream, Pattern, Rule, RuleChange
from millrace.cep.rules import RejectedRule, rule_to_json
from millrace.cep.rules.condition_form import field_condition
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.output_tag import OutputTag
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, MiniJob, run_local

REJECTED = OutputTag("rejected")


def is_(letter: str) -> object:
    return field_condition({"field": 1, "op": "==", "value": letter})


def then(*letters: str) -> Pattern:
    pattern = Pattern.begin(letters[0]).where(is_(letters[0]))
    for letter in letters[1:]:
        pattern = pattern.followed_by(letter).where(is_(letter))
    return pattern.within(100)


def told(match) -> str:
    return f"{match.rule}{match.version} {''.join(match)}"


def test_rules_change_while_the_job_runs_and_hold_no_event_back() -> None:
    """The rules have no watermarks, and most of the time none comes."""
    with MiniJob(parallelism=2) as job:
        events, rules = job.source("events"), job.source("rules")
        found = CEP.dynamic_pattern(events.stream.key_by(0), rules.stream)
        found = found.side_output_rejected_rules(REJECTED).select(told)
        matches = job.collect(found)
        rejected = job.collect(found.get_side_output(REJECTED))

        def push(letters: str, start: int) -> None:
            for time, letter in enumerate(letters, start):
                events.push(("k", letter), timestamp=time)
            events.push_watermark(start + len(letters) - 1)
            job.process()

        push("ab", 1)
        rules.push(Rule("r", 1, then("a", "b")))
        job.process()
        push("ab", 3)
        assert matches.values() == ["r1 ab"]
        rules.push(rule_to_json(Rule("r", 2, then("a", "c"))), "nonsense")
        push("abc", 5)
        assert matches.values() == ["r1 ab", "r2 ac"]
        assert [type(rejected) for rejected in rejected.values()] == [RejectedRule]
        push("a", 10)
        rules.push(RuleChange.disable("r"))
        push("c", 11)
        rules.push('{"format": 1, "rule": "r", "action": "enable"}')
        push("cac", 12)
        assert matches.values() == ["r1 ab", "r2 ac", "r2 ac"]
        assert len(rejected.values()) == 1


def test_the_rules_of_a_bounded_stream_are_there_before_the_events() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        charges = env.from_collection([{"amount": 1}, {"amount": 900}])
        large = field_condition({"field": "amount", "op": ">", "value": 500})
        small = Pattern.begin("small").next("large").where(large)
        rules = env.from_collection([Rule("probe", 1, small, metadata={"owner": "desk"})])
        found = CEP.dynamic_pattern(charges, rules).in_processing_time()
        alerts = found.select(lambda match: (match.rule, match.metadata, match["large"]))
        expected = ("probe", {"owner": "desk"}, [{"amount": 900}])
        assert list(alerts.execute_and_collect()) == [expected]


@settings(max_examples=job_examples(8), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("klm"), st.sampled_from("abc")), max_size=20),
    st.integers(0, 99),
    st.sampled_from([1, 3]),
    st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)]),
)
def test_whatever_fails_each_match_is_found_once(events, seed, parallelism, faults) -> None:
    rules = [
        Rule("ab", 1, then("a", "b"), key_prefix="k"),
        rule_to_json(Rule("abc", 1, then("a", "b", "c"))),
        Rule("code", 1, Pattern.begin("c").where(lambda value: value[1] == "c").next("any")),
        Rule("gone", 1, then("a")),
        RuleChange.remove("gone"),
    ]

    def run(workers: int, faults: Faults, **sizes: int) -> list[str]:
        with run_local(workers, seed, faults=faults, **sizes):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(parallelism)
            stream = env.from_collection(events).key_by(0)
            given = env.from_collection(rules)
            found = CEP.dynamic_pattern(stream, given).in_processing_time()
            return sorted(found.select(told_with_key).execute_and_collect())

    one_epoch = run(1, Faults())
    assert one_epoch == run(3, faults, epoch_records=5, buffer_records=2)


def told_with_key(match) -> str:
    key = next(iter(match.values()))[0][0]
    return f"{key} {told(match)}"


def test_refusals() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    other = StreamExecutionEnvironment.get_execution_environment()
    events, rules = env.from_collection([1]), env.from_collection([Rule("a", 1, then("a"))])
    assert isinstance(CEP.dynamic_pattern(events, rules), DynamicPatternStream)
    with pytest.raises(JobDefinitionError, match="takes its rules as a stream, got"):
        CEP.dynamic_pattern(events, [Rule("a", 1, then("a"))])
    with pytest.raises(JobDefinitionError, match="takes a stream, got"):
        CEP.dynamic_pattern([1], rules)
    with pytest.raises(JobDefinitionError, match="side_output_rejected_rules"):
        CEP.dynamic_pattern(events, rules).side_output_rejected_rules("rejected")
    if other is not env:
        with pytest.raises(JobDefinitionError, match="two environments"):
            CEP.dynamic_pattern(other.from_collection([1]), rules)
