"""What a program of tables gives, in a form that both sides share: a list per step that reads.

Changelogs are materialised: what matters is what a table has in the end, not how it came there;
unless a program asks for the changes themselves.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from conformance.outputs import plain
from conformance.relational import RelationalProgram, Step

REFUSED = "refused"
"""In place of a step's result: it failed, and the program ended there."""
_GOES = ("UPDATE_BEFORE", "DELETE")
_SIGNS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
_OK = '["OK"]'
_DIGITS = re.compile(r"-?\d+\.\d{9,}(?:e[-+]?\d+)?")
"""Numbers with a fraction of many digits."""


def results(t_env: Any, program: RelationalProgram) -> tuple[list[Any], str]:
    """Run a program in an environment of either side: its results, and its error or ''."""
    found: list[Any] = []
    errors: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        for step in program.steps(Path(directory)):
            try:
                lines = _lines(t_env, step, program.is_changelog)
            except Exception as error:
                found.append(REFUSED)
                errors.append(f"{type(error).__name__}: {error}")
                if program.goes_on:
                    continue
                break
            if lines is not None:
                found.append(lines)
    return found, "\n".join(errors)


def _lines(t_env: Any, step: Step, is_changelog: bool) -> list[str] | None:
    result = step(t_env)
    if result is None or isinstance(result, list):
        return result
    return _changes(result) if is_changelog else _rows(result)


def _changes(result: Any) -> list[str] | None:
    """The changes of a step, those with one value in the first column in their order; None if
    all it says is OK."""
    with result.collect() as rows:
        changes = [(_line(row[0:1]), _SIGNS[row.get_row_kind().name], _line(row)) for row in rows]
    changes.sort(key=lambda change: change[0])
    lines = [f"{sign} {line}" for _, sign, line in changes]
    return None if lines == [f"+I {_OK}"] else lines


def _rows(result: Any) -> list[str] | None:
    """The rows of a step, sorted; None if all it says is OK."""
    table: Counter[str] = Counter()
    with result.collect() as rows:
        for row in rows:
            sign = -1 if row.get_row_kind().name in _GOES else 1
            table[_line(row)] += sign
    lines = sorted(line for line, count in table.items() for _ in range(abs(count)))
    missing = [line for line, count in table.items() if count < 0]
    assert not missing, f"rows were taken back that were never there: {missing}"
    return None if lines == [_OK] else lines


def folded(found: list[Any]) -> list[Any]:
    """Results whose changelogs are replaced by the table that they amount to, sorted.

    How many changes there are between two states of a table depends on when records come.

    Example:
        >>> folded([["+I [1]", "-U [1]", "+U [2]"], "refused", ["+I [0]"]])
        [['[2]'], 'refused', ['[0]']]
    """
    return [_table(step) if isinstance(step, list) else step for step in found]


def _table(changes: list[str]) -> list[str]:
    table: Counter[str] = Counter()
    for change in changes:
        sign, line = change[:2], change[3:]
        table[line] += -1 if sign in ("-U", "-D") else 1
    missing = [line for line, count in table.items() if count < 0]
    assert not missing, f"rows were taken back that were never there: {missing}"
    return sorted(table.elements())


def _line(row: Any) -> str:
    return json.dumps(_rounded(plain(row)))


def _rounded(value: Any) -> Any:
    """Mathematical functions of two libraries may differ in the last bit of a double."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.15g}") if isinstance(value, float) else value


def same(found: Any, wanted: Any) -> bool:
    """Whether two results are the same but for the last digit of numbers.

    A number beside the middle between two of fifteen digits may be rounded either way: another
    processor has another last bit.
    """
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, str) and isinstance(wanted, str) and found != wanted:
        return _DIGITS.sub("", found) == _DIGITS.sub("", wanted) and all(
            math.isclose(float(ours), float(theirs), rel_tol=1e-14)
            for ours, theirs in zip(_DIGITS.findall(found), _DIGITS.findall(wanted), strict=True)
        )
    return bool(found == wanted)
