"""Declarations of operator state, the state without keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.state.kinds.table_kind import TableKind
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_kinds import BROADCAST, SPLIT_LIST, UNION_LIST

__all__ = ["OperatorStateDeclaration", "check_declarations", "kind_of"]

_TABLES = {kind.redistribution: kind for kind in (SPLIT_LIST, UNION_LIST, BROADCAST)}


@dataclass(frozen=True, slots=True)
class OperatorStateDeclaration:
    """An operator state: its name, and how it is redistributed.

    An operator lists its declarations in `Operator.operator_states`; states that are values are
    used through `DeclaredValue`, lists and maps through `declared_table`.

    Example:
        >>> seen = OperatorStateDeclaration("seen", RedistributionMode.MERGE, sum)
        >>> seen.merge([3, 4])
        7
    """

    name: str
    """Name of the state, unique in the operator."""
    mode: RedistributionMode
    merge: Callable[[list[Any]], Any] | None = None
    """For `RedistributionMode.MERGE`: function that makes one value from the values of all former
    subtasks."""
    dropped_on_fork: bool = False
    """Whether the state stays with the job that made the snapshot, unless the snapshot is
    claimed."""
    of_readers: bool = False
    """Whether only subtasks that read a split of the operator (a source) get the state when the
    parallelism changes."""
    of_inputs: bool = False
    """Whether the state is about the channels of the subtask's inputs. It is dropped if the inputs
    are others, and merged again if channels cannot be distinguished."""

    @property
    def table_kind(self) -> TableKind:
        """Kind of the state's table, for a list or a map."""
        return kind_of(self.mode)


def kind_of(mode: RedistributionMode) -> TableKind:
    """Kind of table for a list or map that is redistributed by this mode."""
    return _TABLES[mode]


def check_declarations(operator: str, declarations: Iterable[OperatorStateDeclaration]) -> None:
    """Check that all states of an operator can be redistributed.

    Raises:
        JobDefinitionError: a state cannot be redistributed; the message names it and the operator.
    """
    declared = list(declarations)
    for declaration in declared:
        wrong = _wrong(declaration)
        if wrong:
            raise JobDefinitionError(
                f"state '{declaration.name}' of operator '{operator}' cannot be redistributed when "
                f"the parallelism changes: {wrong}"
            )
    for name, times in Counter(declaration.name for declaration in declared).items():
        if times > 1:
            raise JobDefinitionError(
                f"operator '{operator}' declares state '{name}' {times} times; give each a name of "
                "its own"
            )


def _wrong(declaration: OperatorStateDeclaration) -> str:
    mode: Any = declaration.mode
    if not isinstance(mode, RedistributionMode):
        return f"{mode!r} is not a RedistributionMode"
    if mode is RedistributionMode.KEY_GROUP:
        return "it has no keys; keep it in keyed state, or choose another mode"
    if mode is RedistributionMode.MERGE:
        return "" if callable(declaration.merge) else "mode MERGE needs a function to merge with"
    if declaration.merge is not None:
        return f"mode {mode.name} does not merge; remove the function, or use mode MERGE"
    return ""
