"""Conversion of changes to rows with an operation code, and back. Flink: ``TO_CHANGELOG``,
``FROM_CHANGELOG``."""

from __future__ import annotations

from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.changelog import OPERATIONS, FromChangelog, ToChangelog
from millrace.table_runtime.changelog import FromChangelogOperator, ToChangelogOperator

__all__ = ["translate_from_changelog", "translate_to_changelog"]


@translates(ToChangelog)
def translate_to_changelog(node: ToChangelog, translator: Translator) -> Transformation:
    """The operator that turns changes into rows; it runs in the subtasks of its input."""
    codes, order = dict(node.codes), node.order
    names = node.input.row_type.names
    stay = range(len(names)) if node.kept is None else (*node.kept, *node.partition)
    blanked = [n for n, index in enumerate(order) if index is not None and index not in stay]
    factory = partial(
        ToChangelogOperator,
        node.row_type,
        [codes.get(operation) for operation in OPERATIONS],
        order,
        blanked,
    )
    source = translator.input(node.input)
    rows = translator.provenance(source)
    code = digest("ToChangelog", node.codes, node.kept)
    columns = [code if index is None else rows.columns[index] for index in order]
    return translator.stateless(
        "ToChangelog",
        factory,
        [source],
        rows.with_columns(columns, code),
        f"ToChangelog(op=[{node.op}], op_mapping=[{_shown(node.codes)}])",
    )


@translates(FromChangelog)
def translate_from_changelog(node: FromChangelog, translator: Translator) -> Transformation:
    """The operator that turns rows into changes; it runs in the subtasks of its input."""
    numbers = {name: number for number, name in enumerate(OPERATIONS)}
    op = node.input.row_type.names[node.op]
    factory = partial(
        FromChangelogOperator,
        node.row_type,
        (node.op, op),
        {code: numbers[name] for code, name in node.codes},
        node.skips,
        node.order,
        node.place,
    )
    source = translator.input(node.input)
    rows = translator.provenance(source)
    return translator.stateless(
        "FromChangelog",
        factory,
        [source],
        rows.with_columns(
            rows.at(node.order), "FromChangelog", rows.columns[node.op], sorted(node.codes)
        ),
        f"FromChangelog(op=[{op}], op_mapping=[{_shown(node.codes)}])",
    )


def _shown(pairs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{left}: {right}" for left, right in pairs)
