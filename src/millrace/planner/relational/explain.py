"""`explained`: a relational tree as text, one node per line, as Flink's EXPLAIN shows it."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.expressions.resolved import AggregateCall, ResolvedExpression, SortKey
from millrace.planner.relational import rel_node as rel
from millrace.planner.relational import stream_rel_nodes as stream
from millrace.planner.relational.changelog import FromChangelog, ToChangelog
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.process_table import ProcessTable
from millrace.planner.relational.rel_node import RelNode

__all__ = ["explained"]


def explained(node: RelNode) -> str:
    """Text of the tree; inputs stand below the node that reads them, indented.

    >>> from millrace.common.types.logical.logical_type import IntType, RowType
    >>> print(explained(rel.Values((), RowType.of(("id", IntType())))))
    LogicalValues(type=[ROW<`id` INT>], rows=[0])
    """
    return "\n".join(_lines(node, 0))


def _lines(node: RelNode, depth: int) -> list[str]:
    indent = "" if depth == 0 else "   " * (depth - 1) + "+- "
    lines = [f"{indent}{_name(node)}({_attributes(node)})"]
    for child in node.inputs:
        lines += _lines(child, depth + 1)
    for query in _queries(node):
        lines += ["   " * (depth + 1) + "subquery:", *_lines(query, depth + 2)]
    return lines


def _name(node: RelNode) -> str:
    kind = type(node).__name__
    if isinstance(node, rel.Join) and node.lateral:
        return "LogicalCorrelate"
    if isinstance(node, rel.SetOperation):
        return f"Logical{node.kind.value}"
    return kind if kind.startswith("Logical") else f"Logical{kind}"


def _queries(node: RelNode) -> list[RelNode]:
    expressions: Sequence[ResolvedExpression] = ()
    if isinstance(node, rel.Project):
        expressions = node.expressions
    elif isinstance(node, rel.Filter | rel.Join):
        expressions = (node.condition,)
    return [query for expression in expressions for query in _subqueries(expression)]


def _subqueries(expression: ResolvedExpression) -> list[RelNode]:
    queries = [expression.relation] if isinstance(expression, rel.Subquery) else []
    for child in expression.children():
        queries += _subqueries(child)
    return queries


def _fields(node: RelNode, positions: Sequence[int]) -> str:
    names = node.row_type.names
    return ", ".join(names[index] for index in positions)


def _keys(node: RelNode, keys: Sequence[SortKey]) -> str:
    names = node.row_type.names
    return ", ".join(f"{names[key.index]} {'ASC' if key.ascending else 'DESC'}" for key in keys)


def _attributes(node: RelNode) -> str:
    pairs = _pairs(node)
    return ", ".join(f"{name}=[{value}]" for name, value in pairs if value != "")


def _pairs(node: RelNode) -> list[tuple[str, str]]:
    if isinstance(node, rel.TableScan):
        pairs = [("table", ".".join(node.path)), ("fields", ", ".join(node.row_type.names))]
        if node.options:
            pairs.append(("hints", ", ".join(f"{key}={value}" for key, value in node.options)))
        if node.pushed_filter is not None:
            pairs.append(("filter", str(node.pushed_filter)))
        return pairs
    if isinstance(node, rel.Values):
        return [("type", str(node.row_type)), ("rows", str(len(node.rows)))]
    if isinstance(node, rel.Project):
        items = zip(node.names, node.expressions, strict=True)
        return [("select", ", ".join(_item(name, expression) for name, expression in items))]
    if isinstance(node, rel.Filter):
        return [("where", str(node.condition))]
    if isinstance(node, rel.Join):
        return [
            ("joinType", node.kind.value),
            ("where", str(node.condition)),
            ("leftStateTtl", _millis(node.state_ttl[0])),
            ("rightStateTtl", _millis(node.state_ttl[1])),
        ]
    if isinstance(node, rel.SetOperation):
        return [("all", str(node.all).lower())]
    if isinstance(node, rel.Sort):
        pairs = [("orderBy", _keys(node.input, node.keys))]
        pairs.append(("offset", str(node.offset) if node.offset else ""))
        return [*pairs, ("fetch", "" if node.fetch is None else str(node.fetch))]
    if isinstance(node, rel.TableFunctionScan):
        return [("invocation", f"{node.function.value}({', '.join(map(str, node.arguments))})")]
    if isinstance(node, ProcessTable):
        keys = (
            _fields(rows, table.partition)
            for rows, table in zip(node.operands, node.tables, strict=True)
        )
        return [
            ("invocation", node.invocation),
            ("uid", node.uid),
            ("partitionBy", "; ".join(filter(None, keys))),
        ]
    if isinstance(node, rel.Aggregate):
        return _aggregate(node)
    return _function_pairs(node) if isinstance(node, _FUNCTIONS) else _stream_pairs(node)


_FUNCTIONS = (ModelPredict, ToChangelog, FromChangelog)


def _function_pairs(node: RelNode) -> list[tuple[str, str]]:
    if isinstance(node, ToChangelog | FromChangelog):
        return _changelog_pairs(node)
    assert isinstance(node, ModelPredict)
    features = _fields(node.input, node.features)
    return [("model", ".".join(node.model.path)), ("features", features)]


def _changelog_pairs(node: ToChangelog | FromChangelog) -> list[tuple[str, str]]:
    op = node.op if isinstance(node, ToChangelog) else node.input.row_type.names[node.op]
    mapping = ", ".join(f"{left}: {right}" for left, right in node.codes)
    partition = _fields(node.input, node.partition)
    return [("op", op), ("op_mapping", mapping), ("partitionBy", partition)]


def _item(name: str, expression: ResolvedExpression) -> str:
    shown = str(expression)
    return shown if shown == name else f"{shown} AS {name}"


def _aggregate(node: rel.Aggregate) -> list[tuple[str, str]]:
    pairs = [("groupBy", _fields(node.input, node.groups))]
    if node.grouping_sets is not None:
        sets = (f"{{{_fields(node.input, grouping)}}}" for grouping in node.grouping_sets)
        pairs.append(("groupingSets", ", ".join(sets)))
    pairs.append(("select", _calls(node.input, node.calls)))
    return [*pairs, ("stateTtl", _millis(node.state_ttl))]


def _millis(time: int | None) -> str:
    return "" if time is None else f"{time} ms"


def _calls(source: RelNode, calls: Sequence[AggregateCall]) -> str:
    shown = []
    for call in calls:
        arguments = _fields(source, call.arguments) or "*"
        distinct = "DISTINCT " if call.distinct else ""
        where = "" if call.filter is None else f" FILTER {_fields(source, (call.filter,))}"
        shown.append(f"{call.function}({distinct}{arguments}){where} AS {call.name}")
    return ", ".join(shown)


def _strategy(window: stream.WindowingStrategy) -> str:
    sizes = [f"size={window.size} ms"]
    sizes += [f"slide={window.slide} ms"] if window.slide else []
    sizes += [f"offset={window.offset} ms"] if window.offset else []
    return f"{window.kind.value}({', '.join(sizes)})"


def _stream_pairs(node: RelNode) -> list[tuple[str, str]]:
    if isinstance(node, stream.ChangelogNormalize):
        return [("key", _fields(node, node.keys))]
    if isinstance(node, stream.WatermarkAssigner):
        return [
            ("rowtime", _fields(node, (node.rowtime,))),
            ("watermark", str(node.watermark)),
        ]
    if isinstance(node, stream.WindowTableFunction):
        return [("window", _strategy(node.window)), ("time", _fields(node.input, (node.time,)))]
    if isinstance(node, stream.WindowAggregate):
        pairs = [("groupBy", _fields(node.input, node.groups)), ("window", _strategy(node.window))]
        if node.time is not None:
            pairs.append(("time", _fields(node.input, (node.time,))))
        if node.attached is not None:
            pairs.append(("attached", _fields(node.input, node.attached)))
        properties = zip(node.property_kinds, node.properties, strict=True)
        shown = ", ".join(f"{kind} AS {field.name}" for kind, field in properties)
        return [*pairs, ("select", _calls(node.input, node.calls)), ("properties", shown)]
    if isinstance(node, stream.CountWindowAggregate):
        return [
            ("groupBy", _fields(node.input, node.groups)),
            ("window", f"rows(size={node.size}, slide={node.slide})"),
            ("select", _calls(node.input, node.calls)),
        ]
    if isinstance(node, stream.OverAggregate):
        return [("over", "; ".join(_over(node.input, group) for group in node.over))]
    if isinstance(node, stream.Rank):
        return [
            ("rankType", node.rank_kind.value),
            ("rankRange", f"{node.start}..{node.end}"),
            ("partitionBy", _fields(node.input, node.partition)),
            ("orderBy", _keys(node.input, node.order)),
            ("rank", node.rank_name or ""),
            ("window", "" if node.window is None else _fields(node.input, node.window)),
        ]
    if isinstance(node, stream.Deduplicate):
        return [
            ("keep", "LastRow" if node.keep_last else "FirstRow"),
            ("key", _fields(node.input, node.keys)),
            ("order", "ROWTIME" if node.rowtime else "PROCTIME"),
            ("window", "" if node.window is None else _fields(node.input, node.window)),
        ]
    if isinstance(node, stream.LogicalSnapshot):
        return _snapshot(node)
    if isinstance(node, stream.Match):
        return _match(node)
    return []


def _snapshot(node: stream.LogicalSnapshot) -> list[tuple[str, str]]:
    versions = node.versions
    return [
        ("period", str(node.period)),
        ("time", "" if versions is None else _fields(node.input, (versions.time,))),
        ("key", "" if versions is None else _fields(node.input, (versions.key,))),
    ]


def _match(node: stream.Match) -> list[tuple[str, str]]:
    skip = f"SKIP {node.after_match.value}"
    return [
        ("partitionBy", _fields(node.input, node.partition)),
        ("orderBy", _keys(node.input, node.order)),
        ("measures", ", ".join(f"{measure} AS {name}" for name, measure in node.measures)),
        ("after", skip if node.skip_to is None else f"{skip} {node.skip_to}"),
        ("pattern", f"({' '.join(map(str, node.pattern))})"),
        ("within", "" if node.within is None else f"{node.within} ms"),
        ("define", ", ".join(f"{name} AS {condition}" for name, condition in node.definitions)),
    ]


def _over(source: RelNode, group: stream.OverGroup) -> str:
    parts = []
    if group.partition:
        parts.append(f"PARTITION BY {_fields(source, group.partition)}")
    if group.order:
        parts.append(f"ORDER BY {_keys(source, group.order)}")
    unit = "ROWS" if group.rows else "RANGE"
    low = "UNBOUNDED" if group.preceding is None else str(group.preceding)
    high = "UNBOUNDED" if group.following is None else str(group.following)
    parts.append(f"{unit} {low} PRECEDING TO {high} FOLLOWING")
    return f"{_calls(source, group.calls)} ({' '.join(parts)})"
