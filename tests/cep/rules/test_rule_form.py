"""Rules as JSON, there and back; whatever else comes is refused, never run."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from millrace.cep.rules import (
    Rule,
    RuleChange,
    RuleError,
    RuleMatch,
    field_condition,
    rule_from_json,
    rule_to_json,
)
from millrace.cep.rules.rule_form import read_rule
from millrace.common.errors import JobDefinitionError, MalformedPatternError
from millrace.state.serialization.pickles import dump_pickle

SMALL = {"field": "amount", "op": "<", "value": 10}
ENDS = {"field": "amount", "op": "==", "value": 0}


def rule_of(*parts: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"format": 1, "rule": "r", "version": 1, "pattern": {"parts": list(parts), **rest}}


EVERYTHING = {
    "format": 1,
    "rule": "everything",
    "version": 7,
    "enabled": False,
    "keys": {"prefix": "eu-"},
    "pattern": {
        "parts": [
            {"name": "a", "where": SMALL, "times": {"from": 2}, "greedy": True, "until": ENDS},
            {"name": "n", "contiguity": "not_followed_by", "where": SMALL},
            {
                "group": [
                    {"name": "b", "within": "10 s"},
                    {"name": "c", "contiguity": "followed_by_any",
                     "times": {"from": 3, "to": 3, "within": "1500 ms"},
                     "inner": "allow_combinations"},
                    {"name": "d", "contiguity": "next", "times": 2, "inner": "consecutive"},
                ],
                "contiguity": "followed_by",
                "times": {"from": 1, "to": 3, "within": "40 s"},
                "within": "20 s",
            },
            {"name": "e", "contiguity": "followed_by", "optional": True},
            {"name": "f", "contiguity": "next"},
            {"name": "m", "contiguity": "not_next"},
        ],
        "within": "5 min",
        "skip": {"kind": "skip_to_last", "part": "a"},
    },
    "metadata": {"owner": "desk 4", "score": [1, 2]},
}  # fmt: skip


def test_everything_there_and_back() -> None:
    rule = rule_from_json(json.dumps(EVERYTHING))
    assert isinstance(rule, Rule)
    assert rule_to_json(rule) == EVERYTHING
    assert (rule.id, rule.version, rule.enabled, rule.key_prefix) == ("everything", 7, False, "eu-")
    assert rule.metadata == EVERYTHING["metadata"]
    assert rule.json == json.dumps(EVERYTHING)


def test_the_same_as_said_in_python() -> None:
    small, ends = field_condition(SMALL), field_condition(ENDS)
    inner = Pattern.begin("b").within(10_000, WithinType.PREVIOUS_AND_CURRENT)
    inner = inner.followed_by_any("c").times(3, window_time=1500).allow_combinations()
    inner = inner.next("d").times(2).consecutive()
    skip = AfterMatchSkipStrategy.skip_to_last("a")
    pattern = Pattern.begin("a", skip).where(small).times_or_more(2).greedy().until(ends)
    pattern = pattern.not_followed_by("n").where(small)
    pattern = (
        pattern.followed_by(inner)
        .times(1, 3, 40_000)
        .within(20_000, WithinType.PREVIOUS_AND_CURRENT)
    )
    pattern = pattern.followed_by("e").optional().next("f").not_next("m").within(300_000)
    metadata = EVERYTHING["metadata"]
    rule = Rule("everything", 7, pattern, "eu-", enabled=False, metadata=metadata)
    assert rule_to_json(rule) == EVERYTHING


def test_short_forms() -> None:
    read = rule_from_json(rule_of({"name": "a", "times": {"from": 0, "to": 4}}, {"name": "b"}))
    assert isinstance(read, Rule)
    written = rule_to_json(read)["pattern"]
    assert written["parts"] == [
        {"name": "a", "times": {"from": 1, "to": 4}, "optional": True},
        {"name": "b", "contiguity": "followed_by"},
    ]
    read = rule_from_json(rule_of({"name": "a"}, within=1500, skip="skip_past_last_event"))
    assert isinstance(read, Rule)
    assert rule_to_json(read)["pattern"] == {
        "parts": [{"name": "a"}],
        "within": "1500 ms",
        "skip": "skip_past_last_event",
    }
    assert rule_from_json(b'{"format": 1, "rule": "r", "action": "disable"}') == (
        RuleChange.disable("r")
    )


def a(**more: Any) -> dict[str, Any]:
    return rule_of({"name": "a", **more}, {"name": "b"})


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("{", "the rule is not JSON: "),
        ("[]", "the rule: expected an object, got a list"),
        ("[" * 100_000, "the rule: is nested too deep"),
        (b"\xff", "the rule is not text in UTF-8"),
        ('{"format": NaN}', "the rule is not JSON: NaN is not in JSON"),
        ('{"format": 1, "format": 1}', "an object has 'format' twice"),
        ({"rule": {1, 2}}, "the rule is not JSON: "),
        ({"rule": "r"}, "the rule: 'format' is missing"),
        ({"format": 2}, "format: this program reads up to format 1, but the rule has format 2"),
        ({"format": 1, "rule": "r", "action": "drop"}, "action: expected one of enable, disable"),
        ({"format": 1, "rule": "r", "action": "remove", "version": 2}, "there is no 'version' her"),
        (a() | {"version": 0}, "version: expected a whole number of 1 or more, got 0"),
        (a() | {"version": True}, "version: expected a whole number, got true"),
        (a() | {"rule": "\ud800"}, "rule: has half a character"),
        (a() | {"\ud800": 1}, "the rule: a name or a word in it has half a character"),
        (a(contiguity="\udfff"), "the rule: a name or a word in it has half a character"),
        (a() | {"rule": 5}, "rule: expected text, got 5"),
        (a() | {"enabled": "no"}, "enabled: expected true or false, got 'no'"),
        (a() | {"keys": "eu-"}, 'keys: expected "all", or an object with a prefix'),
        (a() | {"keys": {"prefx": "eu-"}}, "keys: there is no 'prefx' here; did you mean 'prefix'"),
        (a() | {"metadata": []}, "metadata: expected an object, got a list"),
        (a() | {"pattern": {}}, "pattern: 'parts' is missing"),
        (rule_of(), "pattern.parts: expected a list of 1 or more, got one of 0"),
        (rule_of({}), "pattern.parts[0]: 'name' is missing"),
        (rule_of({"name": "a"}, {"name": "a"}), "parts[1]: two patterns are named 'a'"),
        (rule_of({"name": "a", "contiguity": "next"}), "parts[0].contiguity: the first part"),
        (rule_of({"name": "a"}, {"group": [{"name": "b"}], "contiguity": "not_next"}),
         "pattern.parts[1].contiguity: a group cannot be not_next"),
        (rule_of({"group": [{"name": "b", "where": {"op": "<"}}]}),
         "pattern.parts[0].group[0].where: 'field' is missing"),
        (rule_of({"group": [{"name": "b"}], "where": SMALL}), "parts[0]: there is no 'where' here"),
        (rule_of({"group": [{"name": "b"}], "greedy": True}), "parts[0].greedy: the group of 'b'"),
        (rule_of({"name": "a"}, {"name": "n", "contiguity": "not_followed_by"}),
         "pattern: the pattern ends with not_followed_by('n') but never ends"),
        (rule_of({"name": "a"}, {"name": "b\nc"}),
         "pattern.parts[1]: followed_by() takes a name of one line"),
        (a(times=0), "pattern.parts[0].times: expected a whole number of 1 or more, got 0"),
        (a(times={"from": 3, "to": 2}), "pattern.parts[0].times: times(3, 2) has its bounds"),
        (a(times=10**9), "pattern.parts: the parts occur more than 1000 times in all"),
        (a(greedy=True), "pattern.parts[0].greedy: pattern 'a' occurs once"),
        (a(until=ENDS), "pattern.parts[0].until: pattern 'a' is not a loop"),
        (a(inner="strict"), "pattern.parts[0].inner: expected one of consecutive, allow_combinati"),
        (a(within="soon"), "pattern.parts[0].within: 'soon' is not a duration such as '10 s'"),
        (rule_of({"name": "a"}, within=0), "pattern.within: expected a whole number of 1 or more"),
        (rule_of({"name": "a"}, within="0 s"), "pattern.within: within() takes a time of 1 ms or"),
        (rule_of({"name": "a"}, skip="past"), "pattern.skip: expected one of no_skip, skip_to"),
        (rule_of({"name": "a"}, skip="skip_to_first"), "pattern.skip: needs a part"),
        (rule_of({"name": "a"}, skip={"kind": "skip_to_last", "part": "z"}), "names no part"),
        (rule_of({"name": "a"}, skip={"kind": "skip_to_last", "part": "a", "throws": True}),
         "pattern.skip: there is no 'throws' here"),
        (a() | {"metadata": {1: "a", "1": "b"}}, "the rule is not JSON: its keys are text, got 1"),
        (a() | {"metadata": {"x": [({"y": {2: 1}},)]}}, "its keys are text, got 2"),
        (a(where={"field": "x", "op": "is null", "of": "z"}),
         "pattern.parts[0].where.of: there is no part 'z' that has events; there are 'a', 'b'"),
    ],
)  # fmt: skip
def test_refusals(form: Any, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        rule_from_json(form)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (a() | {"version": 2**53 + 1}, "version: expected a whole number of 9007199254740992 or"),
        (a() | {"version": -(10**5000)}, "the rule is not JSON: "),
        (a() | {"version": -(10**200)}, "or more, got a number of more than 100 digits"),
        (a(times=10**200), "pattern.parts: the parts occur more than 1000 times"),
        (a(where={"field": "x", "op": "<", "value": 10**100}), "value: a number has at most 100 d"),
        (a(where={"field": "x", "op": "in", "value": [-(10**100)]}), "value[0]: a number has at m"),
        (rule_of({"name": "a"}, within=10**30), "pattern.within: expected a whole number of 9007"),
        (rule_of({"name": "a"}, within="104249992 d"), "pattern.within: within() takes a time of"),
        (a(within="104249992 d"), "pattern.parts[0].within: within() takes a time of at most 9007"),
        (a() | {"metadata": {"m": [{"n": nested(100)}]}}, "metadata.m[0].n[0][0][0]"),
        (a() | {"metadata": {"m": nested(39)}}, ": is nested more than 40 levels deep"),
        (a() | {"x" * 1000: 1}, f"there is no '{'x' * 56}... here; there are"),
    ],
)
def test_limits(form: Any, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        rule_from_json(form)
    assert problem in str(caught.value)


def test_long_ones() -> None:
    long = a() | {"metadata": {"m": "x" * 1_000_000}}
    for form in (long, json.dumps(long), json.dumps(long).encode(), bytearray(1_000_001)):
        with pytest.raises(
            RuleError, match=r"the rule: has 1,000,.* characters; the maximum is 1,000,000"
        ):
            rule_from_json(form)


def test_the_most_that_is_taken() -> None:
    where = {"field": "x", "op": "in", "value": [10**100 - 1, 1 - 10**100]}
    form = a(where=where, within=2**53) | {"version": 2**53, "metadata": {"m": nested(38)}}
    text = json.dumps(form)
    rule = rule_from_json(text + " " * (1_000_000 - len(text)))
    assert isinstance(rule, Rule)
    assert rule.metadata == form["metadata"]
    assert json.loads(json.dumps(rule_to_json(rule))) == rule_to_json(rule)


def test_a_name_said_twice_among_many_is_found_at_once() -> None:
    names = [f'"k{number}": 1' for number in range(60_000)]
    with pytest.raises(RuleError, match="an object has 'k59999' twice"):
        rule_from_json(f"{{{', '.join(names)}, {names[-1]}}}")


def test_what_is_no_rule_at_all() -> None:
    with pytest.raises(RuleError, match="the rule must be a Rule, a RuleChange or JSON, got a int"):
        read_rule(5)
    for wrong in (("", 1), ("r", 0), ("r", "1"), ("r", True)):
        with pytest.raises(JobDefinitionError):
            Rule(*wrong, Pattern.begin("a"))
    with pytest.raises(JobDefinitionError, match="a rule takes a Pattern such as"):
        Rule("r", 1, Pattern)
    with pytest.raises(MalformedPatternError):
        Rule("r", 1, Pattern.begin("a").not_followed_by("b"))


def test_code_is_not_written() -> None:
    with pytest.raises(RuleError, match="is code, and code cannot be written as JSON"):
        rule_to_json(Rule("r", 1, Pattern.begin("a").where(lambda value: value > 3)))


def test_a_strategy_that_throws_is_not_written() -> None:
    """A rule as data never fails the job."""
    skip = AfterMatchSkipStrategy.skip_to_last("a").throw_exception_on_miss()
    with pytest.raises(RuleError, match="throws when it misses"):
        rule_to_json(Rule("r", 1, Pattern.begin("a", skip)))


def test_a_changed_rule_is_not_the_json_it_was_read_from() -> None:
    read = rule_from_json(rule_of({"name": "a"}))
    assert isinstance(read, Rule)
    assert read.json is not None
    changed = replace(read, version=2, pattern=Pattern.begin("b").model())
    assert (changed.json, changed.version) == (None, 2)
    assert pickle.loads(dump_pickle(read)).json == read.json


def test_rules_and_matches_are_sent() -> None:
    read = rule_from_json(rule_of({"name": "a", "where": SMALL}))
    assert isinstance(read, Rule)
    sent = pickle.loads(dump_pickle(read))
    assert rule_to_json(sent) == rule_to_json(read)
    assert sent.pattern.parts[0].condition.call({"amount": 3})
    match = pickle.loads(dump_pickle(RuleMatch({"a": [1]}, "r", 3, {"x": 1})))
    assert (match, match.rule, match.version, match.metadata) == ({"a": [1]}, "r", 3, {"x": 1})


# -- made up rules ---------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["format", "rule", "version", "keys", "prefix", "pattern", "parts", "group", "name", "where",
     "contiguity", "times", "from", "to", "optional", "greedy", "inner", "until", "within", "skip",
     "field", "op", "value", "of", "event", "and", "not", "enabled", "metadata", "kind", "part"]
)  # fmt: skip
SCALARS = st.sampled_from(
    [None, True, 0, 1, 3, -1, 2.5, "a", "b", "next", "not_next", "not_followed_by", "5 s", "<",
     "==", "consecutive", "skip_to_first", "__import__('os').system('x')", 10**20]
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
PARTS = st.lists(st.dictionaries(WORDS, JSON, max_size=4).map(lambda d: {"name": "a"} | d))


@given(JSON | PARTS.map(lambda parts: rule_of(*parts)) | st.text())
def test_whatever_comes_is_a_rule_or_an_error(form: Any) -> None:
    try:
        rule = rule_from_json(form)
    except RuleError:
        return
    if isinstance(rule, Rule):
        written = rule_to_json(rule)
        again = rule_from_json(json.dumps(written))
        assert isinstance(again, Rule)
        assert rule_to_json(again) == written


@given(st.data())
def test_one_wrong_place_is_named(data: st.DataObject) -> None:
    """Whatever value of a good rule is replaced: it is still one, or the error says where."""
    form = json.loads(json.dumps(EVERYTHING))
    holder, place = form, ""
    while isinstance(holder, (dict, list)) and holder:
        names = sorted(holder) if isinstance(holder, dict) else range(len(holder))
        name = data.draw(st.sampled_from(names))
        place = f"{place}[{name}]" if isinstance(holder, list) else f"{place}.{name}"
        last, holder = holder, holder[name]
        if data.draw(st.integers(0, 3)) == 0:
            break
    last[name] = data.draw(JSON)
    named = _refused_at(form)
    assert named is None or named.split(".")[0].split("[")[0] in {place.split(".")[1], "pattern"}


def _refused_at(form: Any) -> str | None:
    try:
        rule_from_json(form)
    except RuleError as error:
        return str(error).split(":")[0]
    return None
