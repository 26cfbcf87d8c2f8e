"""What a SQL program gives, in a form that both sides share: a list per statement that reads.

Changelogs are materialised: what matters is what a table has in the end, not how it came there.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from conformance.outputs import plain
from conformance.sql_program import SqlProgram

REFUSED = "refused"
"""In place of a statement's result: it failed, and the program ended there."""
_READS = ("select", "with", "values", "(", "show", "desc", "explain")
_GOES = ("UPDATE_BEFORE", "DELETE")


def results(t_env: Any, program: SqlProgram) -> tuple[list[Any], str]:
    """Run a program in an environment of either side: its results, and its error or ''."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as directory:
        for statement in program.texts(Path(directory)):
            try:
                result = t_env.execute_sql(statement)
                if result.get_job_client() and not statement.lower().startswith(_READS):
                    result.wait()
                    continue
                rows = _rows(result)
            except Exception as error:
                return [*found, REFUSED], f"{type(error).__name__}: {error}"
            if rows is not None:
                found.append(rows)
    return found, ""


def _rows(result: Any) -> list[str] | None:
    """The rows of a statement, sorted; None if all it says is OK."""
    table: Counter[str] = Counter()
    with result.collect() as rows:
        for row in rows:
            sign = -1 if row.get_row_kind().name in _GOES else 1
            table[json.dumps(_rounded(plain(row)))] += sign
    lines = sorted(line for line, count in table.items() for _ in range(abs(count)))
    missing = [line for line, count in table.items() if count < 0]
    assert not missing, f"rows were taken back that were never there: {missing}"
    return None if lines == ['["OK"]'] else lines


def _rounded(value: Any) -> Any:
    """Mathematical functions of two libraries may differ in the last bit of a double."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.15g}") if isinstance(value, float) else value
