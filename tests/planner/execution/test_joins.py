"""Which joins as of a time are refused, and why."""

import pytest
from query_tables import bound

from millrace.common.errors import JobDefinitionError
from millrace.planner.execution.translation import TranslationSettings, Translator
from millrace.planner.rules.optimizer import optimized


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "SELECT o.id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.id = 3",
            "the join condition must have an equality for each of its columns: currency lacks one",
        ),
        (
            "SELECT o.id FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF o.ts AS r "
            "ON o.id = r.id",
            "requires both primary key and row time attribute in versioned table, but no primary "
            "key can be found",
        ),
        (
            "SELECT o.id FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.ts AS r "
            "ON o.id = r.id",
            "no row time attribute can be found",
        ),
        (
            "SELECT o.id FROM orders o FULL JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r "
            "ON o.currency = r.currency",
            "only supports INNER JOIN and LEFT JOIN, not FullOuterJoin",
        ),
        (
            "SELECT o.id FROM (SELECT *, ts + INTERVAL '1' SECOND AS later FROM orders) o "
            "JOIN rates FOR SYSTEM_TIME AS OF o.later AS r ON o.currency = r.currency",
            "left table's time attribute field, and this is not one",
        ),
    ],
)
def test_refused_joins(query: str, reason: str) -> None:
    with pytest.raises(JobDefinitionError) as refusal:
        Translator(TranslationSettings()).translate(optimized(bound(query)))
    assert reason in str(refusal.value)
