"""The rings that the example finds are those that its transfers have, and those on its page."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx as nx
import pytest

from millrace.testing import run_local

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "applications" / "payments-rings.md"


def test_alerts_are_those_of_the_page_and_of_networkx(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "payments_rings"))
    import rings
    import transfers

    with run_local():
        rings.main()
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("| +I")]
    page = PAGE.read_text("utf-8")
    assert sorted(rows) == sorted(line for line in page.splitlines() if line.startswith("| +I"))
    graph = nx.Graph()
    for transfer in transfers.transfers():
        if rings.between_accounts(transfer.payer, transfer.payee, None):
            graph.add_edge(transfer.payer, transfer.payee)
    parts = [part for part in nx.connected_components(graph) if len(part) > 2]
    expected = {(min(part), str(len(part))) for part in parts}
    found = {tuple(cell.strip() for cell in row.split("|")[2:4]) for row in rows}
    assert found == expected
    for name in ("rings", "transfers"):
        sys.modules.pop(name)
