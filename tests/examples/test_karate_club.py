"""The example on a public data set finds the factions that the data set has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import networkx as nx
import pytest

from millrace.testing import run_local

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "applications" / "karate-club.md"


@pytest.fixture
def club(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example's module."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "karate_club"))
    import club

    yield club
    sys.modules.pop("club")


def test_groups_are_those_of_the_page_and_of_the_data_set(
    club: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_local():
        club.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| +I")]
    page = PAGE.read_text("utf-8")
    assert sorted(rows) == sorted(line for line in page.splitlines() if line.startswith("| +I"))
    graph = nx.karate_club_graph()
    factions: dict[str, list[int]] = {}
    for member, side in nx.get_node_attributes(graph, "club").items():
        factions.setdefault(side, []).append(member)
    wanted = {
        (min(members), len(members), sum(nx.triangles(graph.subgraph(members)).values()) // 3)
        for members in factions.values()
    }
    assert {tuple(int(cell) for cell in row.split("|")[2:5]) for row in rows} == wanted


def test_the_page_shows_the_program(club: ModuleType) -> None:
    source = (ROOT / "examples" / "karate_club" / "club.py").read_text("utf-8")
    assert source in PAGE.read_text("utf-8")
