"""UNION ALL: an operator that forwards the rows of several inputs. Flink: ``Union``."""

from __future__ import annotations

from dataclasses import replace

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.state_signature import Provenance
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.rel_node import SetKind, SetOperation
from millrace.table_runtime.union import UnionOperator

__all__ = ["translate_set_operation"]


@translates(SetOperation)
def translate_set_operation(node: SetOperation, translator: Translator) -> Transformation:
    """The operator of a UNION ALL; a rule has replaced the other set operations by aggregates."""
    assert node.kind is SetKind.UNION
    assert node.all
    inputs = [replace(translator.input(operand), number=0) for operand in node.inputs]
    fields = ", ".join(node.row_type.names)
    description = f"Union(all=[true], [{fields}])"
    rows = [translator.provenance(source) for source in inputs]
    return translator.stateless("Union", UnionOperator, inputs, _gives(rows), description)


def _gives(inputs: list[Provenance]) -> Provenance:
    """Meaning of the rows of all inputs, independent of the inputs' order."""
    ordered = sorted(
        inputs,
        key=lambda provenance: digest(provenance.rows, provenance.columns, provenance.filters),
    )
    branches = [digest(provenance.rows, provenance.columns) for provenance in ordered]
    # a column knows which branch has what in it: two columns may have the same, in other rows
    columns = zip(*(provenance.columns for provenance in ordered), strict=True)
    merged = tuple(digest(sorted(zip(branches, digests, strict=True))) for digests in columns)
    filters = (digest([provenance.filters for provenance in ordered]),)
    return Provenance(digest(sorted(branches)), merged, inputs[0].session, filters)
