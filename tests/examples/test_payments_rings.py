"""The rings that the example finds are those that its transfers have, and those on its page."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import pytest

from millrace.common.types.row import RowKind
from millrace.table import StreamTableEnvironment
from millrace.testing import MiniJob, run_local

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "applications" / "payments-rings.md"
NEW = (RowKind.INSERT, RowKind.UPDATE_AFTER)


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example's module."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "payments_rings"))
    import rings

    yield rings
    for name in ("rings", "transfers"):
        sys.modules.pop(name)


def alerts(rings: ModuleType, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines that the example prints."""
    with run_local():
        rings.main()
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("| +I")]


def named(rows: Iterable[str]) -> set[tuple[str, ...]]:
    """First account and number of accounts of each alert."""
    return {tuple(cell.strip() for cell in row.split("|")[2:4]) for row in rows}


def with_cycles(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, ...]]:
    """First account and number of accounts of each component that has a cycle."""
    graph = nx.Graph(pair for pair in pairs if pair[0] != pair[1])
    parts = nx.connected_components(graph)
    return {(min(part), str(len(part))) for part in parts if nx.cycle_basis(graph.subgraph(part))}


def test_alerts_are_those_of_the_page_and_of_networkx(
    rings: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = alerts(rings, capsys)
    page = PAGE.read_text("utf-8")
    assert sorted(rows) == sorted(line for line in page.splitlines() if line.startswith("| +I"))
    pairs = [rings.ends(transfer) for transfer in rings.transfers()]
    assert named(rows) == with_cycles(p for p in pairs if rings.between_accounts(*p, None))


@pytest.mark.parametrize("seed", range(3))
def test_money_that_goes_to_and_fro_is_no_ring(
    seed: int,
    rings: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Trees whose accounts pay each other back, pay twice and pay themselves, and some rings."""
    dice = random.Random(seed)
    pairs = [("Ann", "Ben"), ("Ben", "Ann"), ("Ben", "Cem"), ("Cem", "Cem"), ("Cem", "Cem")]
    for tree in range(8):
        names = [f"{tree}-{number}" for number in range(dice.randrange(3, 7))]
        pairs += [(names[dice.randrange(n)], names[n]) for n in range(1, len(names))]
        if tree % 2:
            pairs.append((names[0], dice.choice(names)))
    pairs += [pair[:: dice.choice([1, -1])] for pair in dice.sample(pairs, 20)]
    made = [rings.Transfer(*pair, 100, time) for time, pair in enumerate(pairs)]
    monkeypatch.setattr(rings, "transfers", lambda: iter(made))
    assert named(alerts(rings, capsys)) == with_cycles(pairs)


def test_an_alert_comes_within_a_second_of_the_transfer(rings: ModuleType) -> None:
    """By the job's clock, which advances by a second only after each transfer."""
    everyday = [transfer for transfer in rings.transfers() if transfer.payer[0] == "A"]
    with MiniJob(2) as job:
        source = job.source()
        read = job.collect(source.stream)
        table = rings.alerts(source.stream)
        found = job.collect(StreamTableEnvironment.create(job.env).to_changelog_stream(table))

        def pay(*transfers: Any) -> set[tuple[str, int]]:
            """The ring and number of accounts of each alert that comes within the same second."""
            source.push(*transfers)
            taken = 0
            while taken < len(transfers):
                job.process()
                taken += len(read.take())
            rows = found.take()
            job.advance(1000)
            assert found.take() == []
            return {(row[0], row[1]) for row in rows if row.get_row_kind() in NEW}

        def transfer(payer: str, payee: str) -> Any:
            return rings.Transfer(payer, payee, 100, 0)

        assert pay(*everyday, transfer("R1", "R2"), transfer("R2", "R3")) == set()
        assert pay(transfer("S1", "S2"), transfer("S2", "S3"), transfer("S3", "S4")) == set()
        assert pay(transfer("R3", "R1")) == {("R1", 3)}
        assert pay(transfer("S4", "S1")) == {("S1", 4)}
