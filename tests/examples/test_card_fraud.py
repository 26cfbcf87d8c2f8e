"""The rule on cards finds what it should, and only that."""

from __future__ import annotations

from threading import Event

import pytest
from card_fraud import inbox, main
from charges import HOUR, MIDNIGHT, MINUTE, Charge, charges
from fraud_rules import probe

from millrace.cep.rules import Rule, rule_from_json
from millrace.testing import ManualClock, match, run_local

NOON = MIDNIGHT + 12 * HOUR


def found(limit: float, *given: Charge) -> list[float]:
    """The large amounts of the matches."""
    rule = rule_from_json(probe(1, limit))
    assert isinstance(rule, Rule)
    result = match(rule, given, timestamps=lambda c: c.time, key=lambda c: c.card)
    return [matched["large"][0].amount for matched in result.matches]


def charge(after: int, amount: float, country: str = "NL", card: str = "c1") -> Charge:
    return Charge(NOON + after, card, country, amount)


def test_small_then_large_from_elsewhere() -> None:
    assert found(500, charge(0, 1), charge(1000, 20), charge(2000, 501, "BR")) == [501]


@pytest.mark.parametrize(
    "second",
    [
        charge(2000, 501),
        charge(2000, 500, "BR"),
        charge(MINUTE, 501, "BR"),
        charge(2000, 501, "BR", card="c2"),
    ],
    ids=["same country", "not large", "too late", "other card"],
)
def test_what_is_no_fraud(second: Charge) -> None:
    assert found(500, charge(0, 1), second) == []


def test_a_day_has_six_stolen_cards() -> None:
    day = charges(0, 24)
    assert day == sorted(day)
    assert len(found(300, *day)) == 6
    assert found(300, *day) == [c.amount for c in day if c.country == "BR"]


class Steps(ManualClock):
    """A clock that goes in steps: what a rate spreads over a step is one epoch."""

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Go to the end of the step in which the time ``at`` lies."""
        step = 40
        super().wait_until(None if at is None else -(-at // step) * step, interrupted)


def test_the_rule_changes_while_the_job_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with run_local(clock=Steps()):
        main()
    told = [
        (line[14:18], line.partition("then ")[2]) for line in capsys.readouterr().out.splitlines()
    ]
    assert told == [
        ("c017", "812.00 in BR (probe, version 1)"),
        ("c101", "395.00 in BR (probe, version 2)"),
        ("c017", "999.00 in BR (probe, version 2)"),
    ]


def test_no_card_is_tried_when_the_rule_changes() -> None:
    """A little disorder between rules and charges must not change what the page shows."""
    day = inbox()
    changes = [index for index, one in enumerate(day) if isinstance(one, str)]
    for index in changes[1:]:
        near = [one for one in day[index - 50 : index + 50] if isinstance(one, Charge)]
        assert not any(one.country == "BR" for one in near)
