"""The outcomes of ``make test-matrix``, and the table of the install page."""

from __future__ import annotations

import pytest
from test_matrix import BEGIN, END, PAGE, SPARKS, outcome, with_table

VERSIONS = "PySpark 4.0.5, Python 3.11.7"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("..\n14 passed in 61.20s\n", f"14 passed ({VERSIONS})"),
        ("..\n14 passed, 2 warnings in 61.20s\n", f"14 passed ({VERSIONS})"),
        ("= 13 passed, 1 skipped in 61.20s (0:01:01) =\n", f"13 passed, 1 skipped ({VERSIONS})"),
        (
            "FAILED matrix/test_smoke.py::test_sql[epochs] - E\n1 failed, 13 passed in 9.0s\n",
            f"failed: test_sql[epochs] ({VERSIONS})",
        ),
        ("Segmentation fault\n", f"failed: the suite did not end ({VERSIONS})"),
    ],
)
def test_the_outcome_of_a_log(log: str, told: str) -> None:
    assert outcome(log, VERSIONS) == told


def test_pairs_that_did_not_run_keep_their_row() -> None:
    rows = "| 4.3 | 3.12 | 14 passed (old) |\n| 4.1 | 3.12 | none |"
    page = f"before\n{BEGIN}\n\n{rows}\n{END}\nafter"
    written = with_table(page, {"4.1:3.12": "14 passed (new)"})
    assert "| 4.3 | 3.12 | 14 passed (old) |\n" in written
    assert "| 4.1 | 3.12 | 14 passed (new) |\n" in written
    assert "| 4.3 | 3.14 | not run here |\n" in written
    assert written.startswith("before\n")
    assert written.endswith("\nafter")
    assert with_table(written, {}) == written


def test_the_page_has_a_row_for_each_pair_and_all_have_passed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_table(text, {}) == text
    table = text.partition(BEGIN)[2].partition(END)[0]
    rows = [line for line in table.splitlines() if line.startswith("| 4.")]
    assert len(rows) == sum(map(len, SPARKS.values()))
    assert [row for row in rows if " passed (PySpark " not in row] == []
