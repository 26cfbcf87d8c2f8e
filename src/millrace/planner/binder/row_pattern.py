"""PATTERN, SUBSET and AFTER MATCH SKIP of MATCH_RECOGNIZE; refuses what Flink refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.planner.binder.context import BindingContext
from millrace.planner.relational.stream_rel_nodes import AfterMatchSkip, QuantifiedVariable
from millrace.sql.dialect import nodes

__all__ = ["RowPattern", "bind_pattern", "bind_skip"]


@dataclass(frozen=True)
class RowPattern:
    """The variables and subsets of a pattern.

    Attributes:
        subsets: the variables that a name of SUBSET stands for.
    """

    variables: tuple[QuantifiedVariable, ...]
    subsets: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the pattern."""
        return tuple(variable.name for variable in self.variables)

    def members(self, name: str) -> tuple[str, ...] | None:
        """Variables that a name stands for (a variable, or a subset of them), in the order of the
        pattern; None if the name is unknown.
        """
        return (name,) if name in self.names else self.subsets.get(name)

    def occurs(self, names: tuple[str, ...]) -> bool:
        """Whether every match has a row of one of the given variables or, without names, of any
        variable."""
        return any(
            variable.least for variable in self.variables if not names or variable.name in names
        )

    def unknown(self, name: str) -> str:
        """Error text about an unknown pattern variable, with a similar name if there is one."""
        known = [*self.names, *self.subsets]
        return f"Unknown pattern {name!r}{did_you_mean(name, known)}"


def bind_pattern(context: BindingContext, node: nodes.MatchRecognize) -> RowPattern:
    """The pattern of a MATCH_RECOGNIZE clause.

    Raises:
        SqlValidationError: the pattern has a part that Flink does not support, or can match no
            rows.
    """
    if node.args.get("anchored_start") or node.args.get("anchored_end"):
        raise context.refusal(
            node.args["pattern"],
            "Anchors '^' and '$' are not supported: a stream's partition has no first and no last "
            "row",
        )
    pattern = node.args["pattern"]
    concatenated = isinstance(pattern, nodes.PatternConcatenation)
    parts = pattern.expressions if concatenated else [pattern]
    variables: list[QuantifiedVariable] = []
    for part in parts:
        variable = _variable(context, part)
        if any(variable.name == earlier.name for earlier in variables):
            raise context.refusal(
                part,
                "Pattern variables must be unique. That might change in the future: "
                f"{variable.name!r} occurs twice",
            )
        variables.append(variable)
    _check(context, parts, variables)
    subsets = _subsets(context, node.args.get("subsets") or (), variables)
    return RowPattern(tuple(variables), subsets)


def _variable(context: BindingContext, part: exp.Expr) -> QuantifiedVariable:
    """A variable with its quantifier."""
    if isinstance(part, nodes.PatternVariable):
        return QuantifiedVariable(part.name)
    if not isinstance(part, nodes.PatternQuantifier):
        raise context.refusal(part, _unsupported(part))
    if not isinstance(part.this, nodes.PatternVariable):
        raise context.refusal(part.this, _unsupported(part.this))
    least, most = int(part.args["least"]), part.args.get("most")
    reluctant = bool(part.args.get("reluctant"))
    if reluctant and (least, most) == (0, 1):
        raise context.refusal(part, "Reluctant optional variables are not supported yet.")
    return QuantifiedVariable(part.this.name, least, most, reluctant and least != most)


def _unsupported(part: exp.Expr) -> str:
    if isinstance(part, nodes.PatternAlternation):
        return "Currently, CEP doesn't support branching patterns: '|' is not supported"
    if isinstance(part, nodes.PatternPermutation):
        return "Currently, CEP doesn't support PERMUTE patterns"
    if isinstance(part, nodes.PatternExclusion):
        return "Currently, CEP doesn't support '{-' '-}' patterns"
    return "Group patterns are not supported yet: a quantifier stands behind one variable"


def _check(
    context: BindingContext, parts: Sequence[exp.Expr], variables: list[QuantifiedVariable]
) -> None:
    for before, part, variable in zip(variables, parts[1:], variables[1:], strict=False):
        if variable.least == 0 and _is_greedy(before):
            raise context.refusal(
                part,
                f"Optional pattern cannot be preceded by greedy pattern: {variable} comes after "
                f"{before}; make that one reluctant ({before}?), or this one take a row",
            )
    if not any(quantified.least for quantified in variables):
        raise context.refusal(
            parts[0],
            "Patterns that can produce empty matches are not supported. There must be at least one "
            "non-optional state.",
        )
    if _is_greedy(variables[-1]):
        raise context.refusal(
            parts[-1],
            "Greedy quantifiers are not allowed as the last element of a Pattern yet. Finish your "
            "pattern with either a simple variable or reluctant quantifier.",
        )


def _is_greedy(variable: QuantifiedVariable) -> bool:
    """Whether a variable has a greedy quantifier with a variable number of rows, other than
    ``?``."""
    bounds = (variable.least, variable.most)
    return not variable.reluctant and bounds != (0, 1) and variable.least != variable.most


def _subsets(
    context: BindingContext, subsets: Sequence[exp.Expr], variables: list[QuantifiedVariable]
) -> dict[str, tuple[str, ...]]:
    pattern = RowPattern(tuple(variables), {})
    made: dict[str, tuple[str, ...]] = {}
    for subset in subsets:
        if subset.name in pattern.names or subset.name in made:
            raise context.refusal(
                subset, f"Pattern variable {subset.name!r} has already been defined"
            )
        members = []
        for member in subset.expressions:
            if member.name not in pattern.names:
                raise context.refusal(member, pattern.unknown(member.name))
            members.append(member.name)
        made[subset.name] = tuple(name for name in pattern.names if name in members)
    return made


def bind_skip(
    context: BindingContext, node: exp.Expr | None, pattern: RowPattern
) -> tuple[AfterMatchSkip, str | None]:
    """The strategy of AFTER MATCH SKIP, and the variable it skips to. By default Flink skips to
    the next row (the SQL standard: past the last row)."""
    if node is None:
        return AfterMatchSkip.TO_NEXT_ROW, None
    kind = str(node.args["kind"])
    if node.this is None:
        after = AfterMatchSkip.TO_NEXT_ROW if kind == "NEXT ROW" else AfterMatchSkip.PAST_LAST_ROW
        return after, None
    name = node.this.name
    if name in pattern.subsets:
        raise context.refusal(
            node.this, f"SKIP TO {kind} takes a variable of PATTERN, but {name!r} is a SUBSET"
        )
    if name not in pattern.names:
        raise context.refusal(node.this, pattern.unknown(name))
    return (AfterMatchSkip.TO_FIRST if kind == "FIRST" else AfterMatchSkip.TO_LAST), name
