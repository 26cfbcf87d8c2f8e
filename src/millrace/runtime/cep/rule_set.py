"""Rules of a subtask, in broadcast state. All subtasks get the same changes in the same order."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import CheckpointError, JobDefinitionError
from millrace.runtime.cep.active_rule import ActiveRule
from millrace.runtime.cep.pattern_rule import PatternRule, RejectedRule, RuleAction, RuleChange
from millrace.runtime.cep.rule_index import RuleIndex
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.flat_table import FlatTable
from millrace.state.internal_tables import RULES
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import TableId

__all__ = ["RULE_STATE", "ReadRule", "RuleSet"]

LOG = logging.getLogger(__name__)
ReadRule = Callable[[Any], PatternRule | RuleChange]
"""Function that reads a record of the stream of rules. Raises an error if the record is invalid."""
SHOWN = 1_000
"""Maximum number of characters of a rejected rule, or of the reason, in the report."""
RuleRow = tuple[int, bool, int, Any]
NUMBER, ENABLED, VERSION, GIVEN = range(4)
"""Positions in a rule's row of the table. GIVEN is a `PatternRule` or its JSON."""
LAST_NUMBER = ""
"""Key of the last assigned number in the table. No rule has this id."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step in the table of rules: one change."""

    id: str
    compiled: ActiveRule | None = None
    """The rule after the change. None if it is removed."""
    given: Any = None
    enabled: bool = False


RULE_STATE = OperatorStateDeclaration(RULES, RedistributionMode.BROADCAST)


class RuleSet:
    """All rules, and the active ones.

    A rule gets a new number each time it is activated. Its partial matches are stored under that
    number, so they cannot be confused with matches of an earlier activation.
    """

    def __init__(
        self,
        context: OperatorContext,
        read: ReadRule,
        opened: Callable[[ActiveRule], None],
        keyed: bool = True,
    ) -> None:
        name = TableId(context.uid, RULE_STATE.name)
        self._table: FlatTable = context.state.table(name, RULE_STATE.table_kind)
        self._read = read
        self._opened = opened
        self._clock = context.clock
        self._name = context.name
        self._keyed = keyed
        self._reports = context.subtask_index == 0
        self.active: dict[str, ActiveRule] = {}
        """Active rules by id."""
        self.ignored = 0
        """Number of rules that were not newer than the existing version."""
        self._index: RuleIndex | None = None

    def restore(self) -> list[ActiveRule]:
        """Load the rules from the table, and return the rules that are no longer active."""
        before = {rule.number: rule for rule in self.active.values()}
        self.active = {}
        self._index = None
        for id, row in self._table.data.items():
            if id != LAST_NUMBER and row[ENABLED]:
                known = before.get(row[NUMBER])
                if known is not None and (known.rule.json or known.rule) == row[GIVEN]:
                    self.active[id] = before.pop(row[NUMBER])
                else:
                    self._activate(self._kept(id, row))
        return list(before.values())

    @property
    def index(self) -> RuleIndex:
        """Index of the active rules."""
        if self._index is None:
            self._index = RuleIndex(self.active.values())
        return self._index

    def number_of(self, id: str) -> int:
        """Number of an active rule."""
        return self.active[id].number

    def take(self, given: Any) -> ActiveRule | RejectedRule | None:
        """Process a record of the stream of rules. Returns a rule that is no longer active, the
        report of a rejected rule, or None."""
        try:
            step = self._step(self._read(given))
        except Exception as error:
            return self._rejected(given, str(error) or type(error).__name__)
        if step is None:
            return None
        if step.compiled is not None:
            return self._store(step.compiled, step.given, step.enabled)
        self._table.remove(step.id)
        return self._deactivate(step.id)

    def _step(self, change: PatternRule | RuleChange) -> _Step | None:
        """The step for a change. None if nothing changes. Raises an error if the change is
        impossible."""
        if isinstance(change, PatternRule):
            return self._replacement(change)
        known = self._table.data.get(change.rule) if change.rule != LAST_NUMBER else None
        if known is None:
            raise JobDefinitionError(f"there is no rule {change.rule!r} to {change.action.value}")
        action = RuleAction(change.action)
        if action is RuleAction.REMOVE:
            return _Step(change.rule)
        enabled = action is RuleAction.ENABLE
        if known[ENABLED] is enabled:
            return None
        compiled = self._kept(change.rule, known, self._last_number() + 1)
        return _Step(change.rule, compiled, known[GIVEN], enabled)

    def _replacement(self, rule: PatternRule) -> _Step | None:
        known = self._table.data.get(rule.id)
        if known is not None and known[VERSION] >= rule.version:
            self.ignored += 1
            return None
        self._check(rule)
        compiled = ActiveRule(rule, self._last_number() + 1, self._clock)
        return _Step(rule.id, compiled, rule if rule.json is None else rule.json, rule.enabled)

    def _check(self, rule: PatternRule) -> None:
        if rule.key_prefix and not self._keyed:
            raise JobDefinitionError(
                f"rule {rule.id!r} is for keys that begin with {rule.key_prefix!r}, but the "
                "events have no keys; remove the prefix, or give dynamic_pattern a keyed "
                "stream"
            )

    def _store(self, compiled: ActiveRule, given: Any, enabled: bool) -> ActiveRule | None:
        id, version = compiled.id, compiled.rule.version
        self._table.put(LAST_NUMBER, compiled.number)
        self._table.put(id, (compiled.number, enabled, version, given))
        before = self._deactivate(id)
        if enabled:
            self._activate(compiled)
        return before

    def _last_number(self) -> int:
        number: int = self._table.data.get(LAST_NUMBER, 0)
        return number

    def _kept(self, id: str, row: RuleRow, number: int | None = None) -> ActiveRule:
        """Active rule that is read from a row of the table, with the number ``number``; if that
        is None, with the row's own number."""
        try:
            rule = self._read(row[GIVEN])
            assert isinstance(rule, PatternRule)
            return ActiveRule(rule, row[NUMBER] if number is None else number, self._clock)
        except Exception as error:
            raise CheckpointError(
                f"operator '{self._name}' has rule {id!r}, version {row[VERSION]}, in its state, "
                f"but this program cannot read it: {error}"
            ) from error

    def _activate(self, compiled: ActiveRule) -> None:
        self.active[compiled.id] = compiled
        self._index = None
        self._opened(compiled)

    def _deactivate(self, id: str) -> ActiveRule | None:
        self._index = None
        return self.active.pop(id, None)

    def _rejected(self, given: Any, reason: str) -> RejectedRule:
        rejected = RejectedRule(_shown(given), _cut(reason))
        if self._reports:
            LOG.warning(
                "operator '%s' rejects a rule: %r (%r)", self._name, rejected.reason, rejected.given
            )
        return rejected


def _shown(given: Any) -> str:
    try:
        text = given if isinstance(given, str) else repr(given)
    except Exception:
        text = f"a {type(given).__name__}"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
