"""The rings that the example finds are those that its transfers have."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import rings
import transfers

from millrace.common.types.row import RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment
from millrace.testing import MiniJob, run_local

NEW = (RowKind.INSERT, RowKind.UPDATE_AFTER)


def alerts(made: Iterable[Any], directory: Path) -> set[tuple[str, int]]:
    """First account and number of accounts of each alert."""
    transfers.write(made, directory / "transfers.csv")
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        found = rings.alerts(rings.read(env, directory / "transfers.csv")).to_pandas()
    return set(zip(found["ring"], found["accounts"], strict=True))


def with_cycles(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, int]]:
    """First account and number of accounts of each component that has a cycle."""
    graph = nx.Graph(pair for pair in pairs if pair[0] != pair[1])
    parts = nx.connected_components(graph)
    return {(min(part), len(part)) for part in parts if nx.cycle_basis(graph.subgraph(part))}


def test_alerts_are_those_of_networkx(tmp_path: Path) -> None:
    made = list(transfers.transfers())
    pairs = [transfer[:2] for transfer in made]
    wanted = with_cycles(pair for pair in pairs if rings.between_accounts(*pair, None))
    assert alerts(made, tmp_path) == wanted
    assert len(wanted) == len(transfers.RINGS) + 1


@pytest.mark.parametrize("seed", range(3))
def test_money_that_goes_to_and_fro_is_no_ring(seed: int, tmp_path: Path) -> None:
    """Trees whose accounts pay each other back, pay twice and pay themselves, and some rings."""
    dice = random.Random(seed)
    pairs = [("Ann", "Ben"), ("Ben", "Ann"), ("Ben", "Cem"), ("Cem", "Cem"), ("Cem", "Cem")]
    for tree in range(8):
        names = [f"{tree}-{number}" for number in range(dice.randrange(3, 7))]
        pairs += [(names[dice.randrange(n)], names[n]) for n in range(1, len(names))]
        if tree % 2:
            pairs.append((names[0], dice.choice(names)))
    pairs += [pair[:: dice.choice([1, -1])] for pair in dice.sample(pairs, 20)]
    made = [(*pair, 100, time) for time, pair in enumerate(pairs)]
    assert alerts(made, tmp_path) == with_cycles(pairs)


def test_an_alert_comes_within_a_second_of_the_transfer() -> None:
    """By the job's clock, which advances by a second only after each transfer."""
    everyday = [transfer for transfer in transfers.transfers() if transfer.payer[0] == "A"]
    with MiniJob(2) as job:
        source = job.source()
        read = job.collect(source.stream)
        table = rings.alerts(source.stream)
        found = job.collect(StreamTableEnvironment.create(job.env).to_changelog_stream(table))

        def pay(*made: Any) -> set[tuple[str, int]]:
            """The ring and number of accounts of each alert that comes within the same second."""
            source.push(*made)
            taken = 0
            while taken < len(made):
                job.process()
                taken += len(read.take())
            rows = found.take()
            job.advance(1000)
            assert found.take() == []
            return {(row[0], row[1]) for row in rows if row.get_row_kind() in NEW}

        def transfer(payer: str, payee: str) -> Any:
            return transfers.Transfer(payer, payee, 100, 0)

        assert pay(*everyday, transfer("R1", "R2"), transfer("R2", "R3")) == set()
        assert pay(transfer("S1", "S2"), transfer("S2", "S3"), transfer("S3", "S4")) == set()
        assert pay(transfer("R3", "R1")) == {("R1", 3)}
        assert pay(transfer("S4", "S1")) == {("S1", 4)}
