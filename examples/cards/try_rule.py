"""What would version 2 of the rule have found in the morning, and why did version 1 not?"""

from __future__ import annotations

from charges import Charge, charges
from fraud_rules import probe

from millrace.cep.rules import Rule, rule_from_json
from millrace.testing import match, trace


def show(value: Charge) -> str:
    """A charge in short."""
    return f"{value.amount:.2f} in {value.country}"


def main() -> None:
    """Print the matches of one, and what the other did with the charges of that card."""
    first, second = rule_from_json(probe(1, 500)), rule_from_json(probe(2, 300))
    assert isinstance(first, Rule)
    assert isinstance(second, Rule)
    morning = charges(10, 12)
    found = match(second, morning, timestamps=lambda c: c.time, key=lambda c: c.card)
    for matched in found.found:
        print(matched.key, *map(show, matched.events["small"] + matched.events["large"]), sep="  ")
        of_card = [charge for charge in morning if charge.card == matched.key]
        told = trace(first, of_card, timestamps=lambda c: c.time)
        print(told.text(show))


if __name__ == "__main__":
    main()
