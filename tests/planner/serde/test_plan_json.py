"""Trees of queries of every kind come back from JSON as they were."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_tables import bound, snapshots

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.expressions.function_definition import FunctionDefinition
from millrace.planner import relational
from millrace.planner.catalog_reader import ResolvedModel, ResolvedTable
from millrace.planner.relational.explain import explained
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.rules.optimizer import optimized
from millrace.planner.rules.subplan_reuse import with_reused_subplans
from millrace.planner.serde import plan_json
from millrace.planner.serde.plan_json import plan_of, value_of, written_plan, written_value

VALUES = (
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats(allow_nan=False)
    | st.decimals(allow_nan=False, allow_infinity=False) | st.dates() | st.times()
    | st.datetimes() | st.timedeltas()
)  # fmt: skip


@given(VALUES)
def test_constants_come_back(value: Any) -> None:
    back = value_of(json.loads(json.dumps(written_value(value))))
    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize("text", [
    "BIGINT NOT NULL", "DECIMAL(38, 18)", "TIMESTAMP_LTZ(3)", "ARRAY<MAP<STRING, INT NOT NULL>>",
    "ROW<`a b` INT, `c``d` ARRAY<DOUBLE> 'of it'>", "INTERVAL DAY(3) TO SECOND(6)", "VARBINARY(7)",
    "MULTISET<CHAR(3)>", "STRUCTURED<'m.C', `a` INT>", "TIME(3)", "INTERVAL YEAR(4) TO MONTH",
])  # fmt: skip
def test_types_come_back(text: str) -> None:
    kind = parse_type(text)
    assert value_of(json.loads(json.dumps(written_value(kind)))) == kind


def test_what_no_text_can_say_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="a plan in a file cannot have a object"):
        written_value(object())


def test_not_a_number_comes_back() -> None:
    assert str(value_of(json.loads(json.dumps(written_value(float("nan")))))) == "nan"


class NamedObjects:
    """Every table is in the plan, without what reads it; there are no functions of users."""

    def contains(self, table: ResolvedTable) -> bool:
        return True

    def table_of(self, path: tuple[str, ...], definition: ResolvedTable | None) -> ResolvedTable:
        assert definition is not None
        return definition

    def written_model(self, model: ResolvedModel) -> tuple[str, ...]:
        raise AssertionError(model)

    def model_of(
        self, path: tuple[str, ...], input_type: RowType, output_type: RowType
    ) -> ResolvedModel:
        raise AssertionError(path)

    def written_function(self, function: FunctionDefinition) -> str:
        raise AssertionError(function)

    def function_of(self, name: str) -> FunctionDefinition:
        raise AssertionError(name)


def back(roots: list[RelNode]) -> list[RelNode]:
    return plan_of(json.loads(json.dumps(written_plan(roots, NamedObjects()))), NamedObjects())


RULES = Path(__file__).parents[1] / "rules"
QUERIES = [query for query, _ in snapshots(RULES / "optimized_plans.txt")]


@pytest.mark.parametrize("query", QUERIES)
def test_trees_come_back(query: str) -> None:
    node = optimized(bound(query))
    [made] = back([node])
    assert explained(made) == explained(node)
    assert made.row_type == node.row_type
    assert written_plan([made], NamedObjects()) == written_plan([node], NamedObjects())


def kinds_of(kind: type) -> set[type]:
    """Classes of nodes that queries have."""
    below = {each for one in kind.__subclasses__() for each in kinds_of(one)}
    return below | ({kind} if dataclasses.is_dataclass(kind) else set())


def test_every_kind_of_node_can_be_written() -> None:
    for module in iter_modules(relational.__path__):
        import_module(f"{relational.__name__}.{module.name}")
    assert {each.__name__ for each in kinds_of(RelNode)} - {"SingleRel"} <= set(plan_json._CLASSES)


def test_shared_nodes_stay_shared() -> None:
    query = "SELECT a, COUNT(*) FROM t GROUP BY a"
    roots = with_reused_subplans([optimized(bound(query)) for _ in range(2)], True)
    one, two = back(roots)
    assert one.inputs[0] is two.inputs[0]


def test_table_functions_of_older_plans_are_those_of_today() -> None:
    """The uids of what follows depend on them."""
    node = optimized(bound("SELECT a FROM t EXCEPT ALL SELECT a FROM t"))
    written = json.dumps(written_plan([node], NamedObjects()))
    older = written.replace('"payload": false', '"payload": null')
    assert older != written
    made = plan_of(json.loads(older), NamedObjects())
    assert json.dumps(written_plan(made, NamedObjects())) == written


@pytest.mark.parametrize("text", ["{}", '{"nodes": [{"id": 1, "@": "System"}], "roots": [1]}',
    '{"nodes": [{"id": 1, "@": "Filter", "input": 3}], "roots": [1]}',
    '{"nodes": [{"id": 1, "@": "Values", "rows": {"@": "os"}}], "roots": [1]}'])  # fmt: skip
def test_another_text_is_no_plan(text: str) -> None:
    with pytest.raises(JobDefinitionError, match="this is not a plan"):
        plan_of(json.loads(text), NamedObjects())
