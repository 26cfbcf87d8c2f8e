"""The time to live of state is the session's, or a hint's; a batch has none."""

from typing import Any

import pytest
from query_tables import bound

from millrace.planner.execution.translation import TranslationSettings, Translator
from millrace.planner.rules.optimizer import optimized

S = "WITH s (a, b, d) AS (VALUES (1, 2, 3), (2, 3, 4)) "
JOIN = "SELECT {} x.a FROM s x JOIN s y ON x.a = y.a"
GROUPS = "SELECT {} a, COUNT(*) AS n FROM s GROUP BY a"
TOP = (
    "SELECT {} a, b FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY b ORDER BY d) AS n FROM s) "
    "WHERE n <= 2"
)


class ChangelogModes:
    """Rows are never updated."""

    def repeatable(self, _: object) -> bool:
        return False

    def insert_only(self, node: Any) -> bool:
        return True

    def emits_update_before(self, node: Any) -> bool:
        return True


def ttl(text: str, name: str, batch: bool = False) -> Any:
    settings = TranslationSettings(state_ttl=60_000, batch=batch)
    made = Translator(settings, ChangelogModes()).translate(optimized(bound(S + text)))
    while not made.name.startswith(name):
        made = made.inputs[0].transformation
    factory: Any = made.factory
    return factory.args[0].state_ttl


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (JOIN.format(""), "Join", (60_000, 60_000)),
        (JOIN.format("/*+ STATE_TTL('y' = '1 s') */"), "Join", (60_000, 1_000)),
        (GROUPS.format(""), "GroupAggregate", 60_000),
        (GROUPS.format("/*+ STATE_TTL('s' = '0 s') */"), "GroupAggregate", 0),
        (TOP.format(""), "Rank", 60_000),
    ],
)
def test_operators_get_their_time_to_live(text: str, name: str, expected: Any) -> None:
    assert ttl(text, name) == expected


def test_a_batch_forgets_nothing() -> None:
    assert ttl(GROUPS.format("/*+ STATE_TTL('s' = '5 s') */"), "GroupAggregate", batch=True) == 0
