"""Rules: patterns that are added and removed while a job runs, and their JSON."""

from __future__ import annotations

from millrace.cep.rules.condition_form import field_condition
from millrace.cep.rules.rule import Rule
from millrace.cep.rules.rule_error import RuleError
from millrace.cep.rules.rule_form import rule_from_json, rule_to_json
from millrace.runtime.cep.pattern_rule import RejectedRule, RuleAction, RuleChange, RuleMatch

__all__ = [
    "RejectedRule",
    "Rule",
    "RuleAction",
    "RuleChange",
    "RuleError",
    "RuleMatch",
    "field_condition",
    "rule_from_json",
    "rule_to_json",
]
