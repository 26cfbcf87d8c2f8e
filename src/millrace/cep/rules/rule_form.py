"""Reading and writing of rules as JSON. The form: docs/cep/dynamic-rules.md.

Reading never runs what it reads, and raises nothing but `RuleError`.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

from millrace.cep.rules.forms import ChangeForm, FormatForm, KeysForm, RuleForm
from millrace.cep.rules.json_document import check_depth, check_text, read, refuse
from millrace.cep.rules.pattern_form import read_pattern, written_pattern
from millrace.cep.rules.rule import Rule
from millrace.cep.rules.rule_error import RuleError
from millrace.common.errors import MalformedPatternError
from millrace.runtime.cep import pattern_rule
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.pattern_rule import RuleAction, RuleChange

__all__ = ["FORMAT", "read_rule", "rule_from_json", "rule_to_json"]

FORMAT = 1
"""Version of the JSON; a higher one than a program knows is refused."""
MOST_CHARACTERS = 1_000_000
"""Longest JSON of a rule; it takes a second to compile so much of it, on each subtask."""


def rule_from_json(form: Any) -> Rule | RuleChange:
    """A rule, or a change of a rule, from JSON given as text or as a dict.

    Raises:
        RuleError: the JSON is not a rule; the message names the place.

    Example:
        >>> form = {
        ...     "format": 1,
        ...     "rule": "small",
        ...     "version": 3,
        ...     "keys": {"prefix": "eu-"},
        ...     "pattern": {
        ...         "parts": [
        ...             {"name": "a", "where": {"field": "amount", "op": "<", "value": 10}},
        ...             {"name": "b", "contiguity": "next"},
        ...         ],
        ...         "within": "1 min",
        ...     },
        ... }
        >>> rule = rule_from_json(form)
        >>> rule.id, rule.version, rule.pattern.within
        ('small', 3, 60000)
        >>> rule_to_json(rule) == form
        True
        >>> rule_from_json({"format": 1, "rule": "small", "action": "remove"})
        RuleChange(action=<RuleAction.REMOVE: 'remove'>, rule='small')
    """
    rule = _read(form)
    if isinstance(rule, Rule):
        _check_automaton(rule)
    return rule


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """A rule as JSON.

    Raises:
        RuleError: a condition of its pattern is code.
    """
    form: dict[str, Any] = {"format": FORMAT, "rule": rule.id, "version": rule.version}
    if not rule.enabled:
        form["enabled"] = False
    if rule.key_prefix:
        form["keys"] = {"prefix": rule.key_prefix}
    form["pattern"] = written_pattern(rule.pattern)
    return form | ({"metadata": dict(rule.metadata)} if rule.metadata else {})


def read_rule(given: Any) -> pattern_rule.PatternRule | RuleChange:
    """Read an element of a stream of rules: a rule, a change, or the JSON of either.

    Whether the pattern can be compiled is not checked here.

    Raises:
        RuleError: the element is none of these.
    """
    if isinstance(given, (pattern_rule.PatternRule, RuleChange)):
        return given
    if isinstance(given, (dict, str, bytes, bytearray)):
        return _read(given)
    raise RuleError(f"the rule must be a Rule, a RuleChange or JSON, got a {type(given).__name__}")


def _read(form: Any) -> Rule | RuleChange:
    if isinstance(form, (str, bytes, bytearray)):
        _check_length(form)
        text = form if isinstance(form, str) else _decoded(form)
        return _rule(_parsed(text), text)
    text = _as_text(form)
    _check_length(text)
    return _rule(form, text)


def _check_length(text: str | bytes | bytearray) -> None:
    if len(text) > MOST_CHARACTERS:
        raise RuleError(
            f"the rule: has {len(text):,} characters; the maximum is {MOST_CHARACTERS:,}"
        )


def _check_automaton(rule: Rule) -> None:
    try:
        Automaton(rule.pattern)
    except MalformedPatternError as error:
        raise RuleError(f"pattern: {error}") from None


def _rule(value: Any, text: str) -> Rule | RuleChange:
    check_depth(value, "")
    version: int = read(value, FormatForm, "").format
    if version > FORMAT:
        refuse(
            "format", f"this program reads up to format {FORMAT}, but the rule has format {version}"
        )
    if "action" in value:
        change: ChangeForm = read(value, ChangeForm, "")
        return RuleChange(RuleAction(change.action), check_text(change.rule, "rule"))
    form: RuleForm = read(value, RuleForm, "")
    return Rule(
        check_text(form.rule, "rule"),
        form.version,
        read_pattern(form.pattern, "pattern"),
        _key_prefix(form.keys),
        form.enabled,
        form.metadata,
    ).read_from(text)


def _key_prefix(keys: str | KeysForm) -> str:
    if isinstance(keys, KeysForm):
        return check_text(keys.prefix, "keys.prefix")
    if keys != "all":
        refuse("keys", f'expected "all", or an object with a prefix, got {keys!r}')
    return ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except RecursionError:
        raise RuleError("the rule: is nested too deep") from None
    except ValueError as error:
        raise RuleError(f"the rule is not JSON: {error}") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise RuleError(f"the rule: an object has {twice!r} twice; keep one of them")
    return members


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not in JSON")


def _decoded(form: bytes | bytearray) -> str:
    try:
        return form.decode()
    except UnicodeDecodeError as error:
        raise RuleError(f"the rule is not text in UTF-8: {error}") from None


def _as_text(form: Any) -> str:
    try:
        text = json.dumps(form, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RuleError(f"the rule is not JSON: {error}") from None
    _check_keys(form)
    return text


def _check_keys(form: Any) -> None:
    """Refuse keys other than text: JSON would turn numbers into text, which may be another key."""
    if isinstance(form, dict):
        for key in form:
            if not isinstance(key, str):
                raise RuleError(f"the rule is not JSON: its keys are text, got {key!r}")
        form = list(form.values())
    if isinstance(form, (list, tuple)):
        for value in form:
            _check_keys(value)
