"""Text of a graph: operators that are read twice, exchanges, and very long chains."""

from __future__ import annotations

from millrace.job_graph.operator_tree import TreeInput, TreeOperator, tree_lines
from millrace.runtime.program import Exchange


def test_an_operator_with_two_readers_is_written_once() -> None:
    operators = {
        "read": TreeOperator("Read"),
        "left": TreeOperator("Left", (TreeInput("read"),)),
        "join": TreeOperator("Join", (TreeInput("left"), TreeInput("read", Exchange.GLOBAL))),
    }
    assert tree_lines(["join"], operators) == [
        "Join",
        "+- Left",
        "   +- Read(reuse_id=[1])",
        "+- Exchange(distribution=[single])",
        "   +- Reused(reference_id=[1])",
    ]


def test_a_chain_is_longer_than_pythons_stack() -> None:
    operators = {
        number: TreeOperator(f"Op {number}", (TreeInput(number - 1),) if number else ())
        for number in range(3_000)
    }
    lines = tree_lines([2_999], operators)
    assert len(lines) == 3_000
    assert lines[0] == "Op 2999"
    assert lines[-1].endswith("+- Op 0")
