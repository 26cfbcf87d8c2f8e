"""How the runs of PyFlink's examples are judged; ``make pyflink-examples`` runs them."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.example_outputs import BROKEN, ENDLESS, EXPECTED, SERVERS, WAITING, Expected
from conformance.pyflink_examples import (
    FOLDER,
    Ended,
    broken_problem,
    endless_problem,
    problems,
    unpacked,
    waiting_problem,
)

from millrace.missing_modules import MISSING, MISSING_NAMES


def test_only_the_prefix_of_imports_is_replaced(tmp_path: Path) -> None:
    """Words of the program stay; what is no program is left out."""
    source = "import pyflink\n    from pyflink.common import Row\nwords = ['pyflink', 'x']\n"
    with zipfile.ZipFile(tmp_path / "wheel.whl", "w") as wheel:
        wheel.writestr(f"{FOLDER}a/b.py", source)
        wheel.writestr(f"{FOLDER}notes.txt", "")
        wheel.writestr("pyflink/common/row.py", "")
    assert unpacked(tmp_path / "wheel.whl", tmp_path) == ["a/b.py"]
    assert (tmp_path / "a" / "b.py").read_text() == (
        "import millrace\n    from millrace.common import Row\nwords = ['pyflink', 'x']\n"
    )


def test_outputs_are_compared_as_multisets() -> None:
    """Both what is missing and what is too much is told."""
    expected = Expected(("(1, 2)", "(1, 2)"))
    assert expected.difference(["(1, 2)", "Printing result to stdout.", "(1, 2)"]) == ""
    assert expected.difference(["(1, 2)", "(3, 4)"]) == "missing: (1, 2); unexpected: (3, 4)"


def test_of_changes_the_rows_that_are_left_are_compared() -> None:
    expected = Expected(("+I[a, 2]",), changes=True)
    assert expected.difference(["+I[a, 2]"]) == ""
    assert (
        expected.difference(["x", "+I[a, 1]", "+I[b, 1]", "-D[b, 1]", "-U[a, 1]", "+U[a, 2]"]) == ""
    )
    assert expected.difference(["+I[a, 1]"]) == "missing: +I[a, 2]; unexpected: +I[a, 1]"


def test_a_waiting_program_must_say_why() -> None:
    """One that runs, or fails for another reason, does not wait."""
    assert waiting_problem(Ended(1, [], "Trace\nError: no Table API yet: x"), "no Table API") == ""
    assert waiting_problem(Ended(1, [], "Trace\nTypeError"), "no Table").endswith("TypeError")
    assert waiting_problem(Ended(0, [], ""), "no Table") == "it runs: give its expected output"


def test_a_program_that_fails_in_pyflink_too() -> None:
    """It must fail in the same way."""
    assert broken_problem(Ended(1, [], "Trace\nKeyError: x\nnote"), "KeyError: x") == ""
    assert broken_problem(Ended(1, [], "Trace\nTypeError"), "KeyError") == "it failed otherwise"
    assert broken_problem(Ended(0, [], ""), "KeyError") == "it runs: give its expected output"


def test_random_results_are_counted() -> None:
    expected = Expected(results=r"\d+", count=2)
    assert expected.difference(["1", "words", "22"]) == ""
    assert expected.difference(["1", "words"]) == "1 results, not 2"


def test_first_results_of_a_program_without_an_end() -> None:
    """As many as are looked at, each as expected."""
    lines = ["Printing result to stdout.\n", *["('a', 1)\n"] * 11]
    assert endless_problem(lines, r"\('a', 1\)") == ""
    assert endless_problem(lines[:10], "").endswith("after 9 results")
    assert endless_problem(lines, r"\('b', 1\)") == "unexpected: ('a', 1)"


def test_every_program_is_either_expected_or_waiting(tmp_path: Path) -> None:
    """With the sentence that the import of the missing module or name gives; or needs a server."""
    kinds = EXPECTED, WAITING, SERVERS, ENDLESS, BROKEN
    assert len({name for kind in kinds for name in kind}) == sum(map(len, kinds))
    names = [sentence for found in MISSING_NAMES.values() for sentence in found.values()]
    for sentence in WAITING.values():
        assert any(words.startswith(sentence) for words in [*MISSING.values(), *names])
    for name in SERVERS:
        assert [problem for _, problem in problems(name, tmp_path)] == [""]
    assert [problem for _, problem in problems("new.py", tmp_path)] == [
        "a new program: give its expected output, or the part it waits for"
    ]
