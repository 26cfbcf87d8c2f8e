"""Printer of syntax trees; parsing the text again gives an equal tree.

It does not use sqlglot's generator, which rewrites queries for other databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp

from millrace.common.types.logical.logical_type import quoted
from millrace.sql.dialect import nodes
from millrace.sql.dialect.plain_text import identifier_text, string_text

__all__ = ["pattern_text", "to_sql"]

_Printer = Callable[[Any], str]


def to_sql(node: exp.Expr) -> str:
    """SQL text of a query, an expression or a part of them.

    >>> from millrace.sql.parser import parse_query
    >>> to_sql(parse_query("select a,b+1 c from t where not a is null"))
    'SELECT a, b + 1 AS c FROM t WHERE a IS NOT NULL'

    Raises:
        TypeError: Flink's language has no text for the node.
    """
    printer = _PRINTERS.get(type(node))
    if printer is None:
        raise TypeError(f"{type(node).__name__} is not syntax of Flink SQL")
    return printer(node)


def _list(items: Iterable[exp.Expr], separator: str = ", ") -> str:
    return separator.join(map(to_sql, items))


def _part(node: exp.Expr, key: str, before: str = "", after: str = "") -> str:
    """Text of an argument with a prefix and a suffix; empty if the argument is missing."""
    value = node.args.get(key)
    if not value:
        return ""
    text = _list(value) if isinstance(value, list) else to_sql(value)
    return f"{before}{text}{after}"


def _literal(node: exp.Literal) -> str:
    return string_text(str(node.this)) if node.is_string else str(node.this)


def _interval(node: nodes.IntervalLiteral) -> str:
    sign = "-" if node.args.get("negative") else ""
    return f"INTERVAL {sign}{string_text(node.this)} {_interval_units(node)}"


def _interval_units(node: nodes.IntervalLiteral | nodes.TimeDifference) -> str:
    args = node.args
    unit, precision, fraction = args["unit"], args.get("precision"), args.get("fraction")
    sizes = [precision] if precision is not None else []
    to = args.get("to")
    if unit == "SECOND" and fraction is not None:
        sizes.append(fraction)
    first = f"{unit}({', '.join(map(str, sizes))})" if sizes else unit
    last = f" TO {to}" if to else ""
    if to == "SECOND" and fraction is not None:
        last += f"({fraction})"
    return f"{first}{last}"


def _call(node: nodes.FunctionCall) -> str:
    args = node.args
    name = ".".join(map(to_sql, args.get("qualifier") or ()))
    # the name of a function may be a word that is reserved otherwise
    last = args["this"]
    word = quoted(last.this) if last.args.get("quoted") else str(last.this)
    text = f"{name}.{word}" if name else word
    if args.get("bare"):
        return text
    inside = "DISTINCT " if args.get("distinct") else ""
    text += f"({inside}{_arguments(node)})"
    if args.get("null_treatment"):
        text += f" {args['null_treatment']} NULLS"
    text += _part(node, "order", " WITHIN GROUP (ORDER BY ", ")")
    text += _part(node, "filter", " FILTER (WHERE ", ")")
    return text + _part(node, "over", " OVER ")


def _arguments(node: nodes.FunctionCall) -> str:
    name, items = node.name.upper(), node.arguments
    if name == "EXTRACT" and items:
        return _list(items, " FROM ")
    if name in ("CEIL", "CEILING", "FLOOR") and isinstance(items[-1], nodes.TimeUnit):
        return _list(items, " TO ")
    if name == "POSITION" and not node.args.get("qualifier"):
        return to_sql(items[0]) + " IN " + _list(items[1:], " FROM ")
    if name == "TRIM" and isinstance(items[0], exp.Var):
        return f"{items[0].this} {to_sql(items[1])} FROM {to_sql(items[2])}"
    clauses = [item for item in items if isinstance(item, nodes.JsonBehavior)]
    plain = _list(item for item in items if not isinstance(item, nodes.JsonBehavior))
    return " ".join(part for part in (plain, _list(clauses, " ")) if part)


def _json_behavior(node: nodes.JsonBehavior) -> str:
    what, on = node.args["this"], node.args["on"]
    if on == "RETURNING":
        return f"RETURNING {to_sql(what)}"
    if on == "WRAPPER":
        return "WITHOUT WRAPPER" if what == "WITHOUT" else f"WITH {what} WRAPPER"
    return f"{what}{_part(node, 'expression', ' ')} ON {on}"


def _case(node: exp.Case) -> str:
    branches = " ".join(
        f"WHEN {to_sql(branch.this)} THEN {to_sql(branch.args['true'])}"
        for branch in node.args["ifs"]
    )
    return f"CASE{_part(node, 'this', ' ')} {branches}{_part(node, 'default', ' ELSE ')} END"


def _word(word: str) -> _Printer:
    return lambda node: word


def _binary(sign: str) -> _Printer:
    return lambda node: f"{to_sql(node.this)} {sign} {_right(node.expression)}"


def _right(node: exp.Expr) -> str:
    """Text of an operand on the right of an operator. A negation is printed with ``NOT`` in
    front, because the parser would read ``x = a IS NOT NULL`` as ``(x = a) IS NOT NULL``."""
    return f"NOT {to_sql(node.this)}" if isinstance(node, exp.Not) else to_sql(node)


def _joined(sign: str) -> _Printer:
    """Printer of AND or OR, which prints chains without brackets."""

    def printed(node: exp.Expr) -> str:
        texts: list[str] = []
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if type(part) is type(node):
                waiting += [part.expression, part.this]
            else:
                texts.append(to_sql(part))
        return f" {sign} ".join(texts)

    return printed


_NEGATED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Is: (" IS ", " IS NOT "),
    nodes.IsJson: (" IS JSON", " IS NOT JSON"),
    exp.In: (" IN (", " NOT IN ("),
    exp.Between: (" BETWEEN ", " NOT BETWEEN "),
    exp.Like: (" LIKE ", " NOT LIKE "),
    exp.SimilarTo: (" SIMILAR TO ", " NOT SIMILAR TO "),
}


def _not(node: exp.Not) -> str:
    """Text of a negation, with ``NOT`` inside predicates (``a IS NOT NULL``), where it binds as
    strongly as the predicate."""
    predicate = node.this
    inner = predicate.this if isinstance(predicate, exp.Escape) else predicate
    words = _NEGATED.get(type(inner))
    if words is None:
        return f"NOT {to_sql(predicate)}"
    left = to_sql(inner.this)
    return left + to_sql(predicate)[len(left) :].replace(*words, 1)


def _neg(node: exp.Neg) -> str:
    inner = _right(node.this)
    return f"- {inner}" if inner.startswith("-") else f"-{inner}"


def _quantified(word: str) -> _Printer:
    return lambda node: f"{word} ({to_sql(node.this)})"


def _in(node: exp.In) -> str:
    return f"{to_sql(node.this)} IN ({_part(node, 'query') or _list(node.expressions)})"


def _between(node: exp.Between) -> str:
    word = "BETWEEN SYMMETRIC" if node.args.get("symmetric") else "BETWEEN"
    low, high = to_sql(node.args["low"]), to_sql(node.args["high"])
    return f"{to_sql(node.this)} {word} {low} AND {high}"


def _row(node: nodes.RowConstructor) -> str:
    word = "" if node.args.get("implicit") else "ROW"
    return f"{word}({_list(node.expressions)})"


def _ordered(node: exp.Ordered) -> str:
    text = to_sql(node.this) + (" DESC" if node.args.get("desc") else "")
    first = node.args.get("nulls_first")
    return text if first is None else f"{text} NULLS {'FIRST' if first else 'LAST'}"


def _window(node: nodes.WindowSpecification) -> str:
    parts = (
        _part(node, "this"),
        _part(node, "partition_by", "PARTITION BY "),
        _part(node, "order", "ORDER BY "),
        _part(node, "frame"),
    )
    return f"({' '.join(part for part in parts if part)})"


def _frame(node: nodes.WindowFrame) -> str:
    unit, start = node.args["unit"], to_sql(node.args["start"])
    end = _part(node, "end")
    return f"{unit} BETWEEN {start} AND {end}" if end else f"{unit} {start}"


def _frame_bound(node: nodes.FrameBound) -> str:
    kind = str(node.args["kind"])
    if kind == "CURRENT ROW":
        return kind
    return f"{_part(node, 'this') or 'UNBOUNDED'} {kind}"


def _select(node: exp.Select) -> str:
    text = "SELECT" + _part(node, "hint", " ")
    text += " DISTINCT" if node.args.get("distinct") else ""
    text += " " + _list(node.expressions)
    for clause in ("from_", "where", "group", "having"):
        text += _part(node, clause, " ")
    text += _part(node, "windows", " WINDOW ")
    return _with_modifiers(node, text + _part(node, "qualify", " "))


def _with_modifiers(node: exp.Expr, text: str) -> str:
    for clause in ("order", "limit", "offset"):
        text += _part(node, clause, " ")
    return _part(node, "with_", "", " ") + text


def _set_operation(word: str) -> _Printer:
    def printed(node: exp.SetOperation) -> str:
        every = "" if node.args.get("distinct") else " ALL"
        left, right = to_sql(node.this), to_sql(node.expression)
        return _with_modifiers(node, f"{left} {word}{every} {right}")

    return printed


def _values(node: exp.Values) -> str:
    return _with_modifiers(node, f"VALUES {_list(node.expressions)}")


def _cte(node: exp.CTE) -> str:
    return f"{to_sql(node.args['alias'])} AS ({to_sql(node.this)})"


def _table_alias(node: exp.TableAlias) -> str:
    return to_sql(node.this) + _part(node, "columns", " (", ")")


def _aliased(node: exp.Expr, text: str) -> str:
    return text + _part(node, "alias", " AS ")


def _table(node: exp.Table) -> str:
    names = ".".join(_part(node, key) for key in ("catalog", "db", "this") if node.args.get(key))
    hints = _part(node, "hints", " /*+ ", " */")
    return _aliased(node, f"{names}{hints}{_part(node, 'version', ' ')}")


def _subquery(node: exp.Subquery) -> str:
    return _with_modifiers(node, _aliased(node, f"({to_sql(node.this)})"))


def _joined_tables(node: nodes.JoinedTables) -> str:
    kind = node.args["kind"]
    left, right = to_sql(node.this), to_sql(node.expression)
    if kind == "COMMA":
        if _is_join(node.expression, "COMMA"):
            right = f"({right})"
        return f"{left}, {right}"
    if _is_join(node.this, "COMMA"):
        left = f"({left})"
    if isinstance(node.expression, nodes.JoinedTables):
        right = f"({right})"
    words = "NATURAL " if node.args.get("natural") else ""
    words += "JOIN" if kind == "INNER" else f"{kind} JOIN"
    on = _part(node, "on", " ON ") + _part(node, "using", " USING (", ")")
    return f"{left} {words} {right}{on}"


def _is_join(node: exp.Expr, kind: str) -> bool:
    return isinstance(node, nodes.JoinedTables) and node.args["kind"] == kind


def _function_table(node: nodes.TableFunctionCall) -> str:
    call = to_sql(node.this)
    text = f"TABLE({call})" if node.args.get("wrapped") else call
    text += " WITH ORDINALITY" if node.args.get("ordinality") else ""
    return _aliased(node, f"LATERAL {text}" if node.args.get("lateral") else text)


def _collection_table(node: nodes.CollectionTable) -> str:
    ordinality = " WITH ORDINALITY" if node.args.get("ordinality") else ""
    return _aliased(node, f"UNNEST({_list(node.expressions)}){ordinality}")


def _table_argument(node: nodes.TableArgument) -> str:
    text = f"TABLE {to_sql(node.this)}"
    return (
        text
        + _part(node, "partition_by", " PARTITION BY (", ")")
        + (_part(node, "order", " ORDER BY (", ")"))
    )


def _hint(node: nodes.Hint) -> str:
    if node.args.get("options"):
        return str(node.args["this"]) + _part(node, "options", "(", ")")
    return str(node.args["this"]) + _part(node, "expressions", "(", ")")


def _match_recognize(node: nodes.MatchRecognize) -> str:
    args = node.args
    parts = [
        _part(node, "partition_by", "PARTITION BY "),
        _part(node, "order", "ORDER BY "),
        _part(node, "measures", "MEASURES "),
        {"ONE": "ONE ROW PER MATCH", "ALL": "ALL ROWS PER MATCH"}.get(args.get("rows") or "", ""),
        _part(node, "after"),
        "PATTERN ("
        + ("^ " if args.get("anchored_start") else "")
        + pattern_text(args["pattern"])
        + (" $" if args.get("anchored_end") else "")
        + ")",
        _part(node, "within", "WITHIN "),
        _part(node, "subsets", "SUBSET "),
        "DEFINE " + ", ".join(_definition(part) for part in args["define"]),
    ]
    inside = " ".join(part for part in parts if part)
    table = to_sql(node.this)
    if isinstance(node.this, nodes.JoinedTables):
        table = f"({table})"
    return _aliased(node, f"{table} MATCH_RECOGNIZE ({inside})")


def _definition(node: exp.Expr) -> str:
    return f"{to_sql(node.args['alias'])} AS {to_sql(node.this)}"


def _after_match(node: nodes.AfterMatch) -> str:
    kind = node.args["kind"]
    if kind == "PAST LAST ROW":
        return f"AFTER MATCH SKIP {kind}"
    return f"AFTER MATCH SKIP TO {kind}{_part(node, 'this', ' ')}"


_WORDS: dict[type[exp.Expr], str] = {
    exp.Star: "*",
    exp.Null: "NULL",
    exp.Distinct: "DISTINCT",
    nodes.Unknown: "UNKNOWN",
    nodes.DefaultValue: "DEFAULT",
}
_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    nodes.Plus: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.GT: ">",
    exp.LTE: "<=",
    exp.GTE: ">=",
    exp.Is: "IS",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Like: "LIKE",
    exp.SimilarTo: "SIMILAR TO",
    exp.Escape: "ESCAPE",
    exp.Kwarg: "=>",
    nodes.Overlaps: "OVERLAPS",
}
_PRINTERS: dict[type[exp.Expr], _Printer] = {
    **{kind: _word(word) for kind, word in _WORDS.items()},
    **{kind: _binary(sign) for kind, sign in _SIGNS.items()},
    exp.And: _joined("AND"),
    exp.Or: _joined("OR"),
    exp.Not: _not,
    exp.Neg: _neg,
    exp.Paren: lambda node: f"({to_sql(node.this)})",
    exp.Identifier: identifier_text,
    exp.Column: lambda node: ".".join(map(to_sql, node.parts)),
    exp.Dot: lambda node: f"{to_sql(node.this)}.{to_sql(node.expression)}",
    exp.Bracket: lambda node: f"{to_sql(node.this)}[{_list(node.expressions)}]",
    exp.Literal: _literal,
    exp.HexString: lambda node: f"X'{node.this}'",
    exp.Boolean: lambda node: "TRUE" if node.this else "FALSE",
    exp.Var: lambda node: str(node.this),
    exp.Case: _case,
    exp.Cast: lambda node: f"CAST({to_sql(node.this)} AS {to_sql(node.args['to'])})",
    exp.TryCast: lambda node: f"TRY_CAST({to_sql(node.this)} AS {to_sql(node.args['to'])})",
    exp.In: _in,
    exp.Between: _between,
    exp.Exists: _quantified("EXISTS"),
    exp.All: _quantified("ALL"),
    exp.Any: _quantified("ANY"),
    exp.Alias: lambda node: f"{to_sql(node.this)} AS {to_sql(node.args['alias'])}",
    exp.Ordered: _ordered,
    exp.Tuple: lambda node: f"({_list(node.expressions)})",
    exp.ColumnDef: lambda node: f"{to_sql(node.this)} {to_sql(node.args['kind'])}",
    exp.Select: _select,
    exp.Values: _values,
    exp.Union: _set_operation("UNION"),
    exp.Except: _set_operation("EXCEPT"),
    exp.Intersect: _set_operation("INTERSECT"),
    exp.With: lambda node: f"WITH {_list(node.expressions)}",
    exp.CTE: _cte,
    exp.From: lambda node: f"FROM {to_sql(node.this)}",
    exp.Where: lambda node: f"WHERE {to_sql(node.this)}",
    exp.Group: lambda node: f"GROUP BY {_list(node.expressions)}",
    exp.GroupingSets: lambda node: f"GROUPING SETS ({_list(node.expressions)})",
    exp.Rollup: lambda node: f"ROLLUP ({_list(node.expressions)})",
    exp.Cube: lambda node: f"CUBE ({_list(node.expressions)})",
    exp.Having: lambda node: f"HAVING {to_sql(node.this)}",
    exp.Qualify: lambda node: f"QUALIFY {to_sql(node.this)}",
    exp.Order: lambda node: f"ORDER BY {_list(node.expressions)}",
    exp.Limit: lambda node: f"LIMIT {to_sql(node.expression)}",
    exp.Offset: lambda node: f"OFFSET {to_sql(node.expression)}",
    exp.Hint: lambda node: f"/*+ {_list(node.expressions)} */",
    exp.TableAlias: _table_alias,
    exp.Table: _table,
    exp.Subquery: _subquery,
    exp.Lateral: lambda node: _aliased(node, f"LATERAL {to_sql(node.this)}"),
    nodes.FunctionCall: _call,
    nodes.TypeName: lambda node: str(node.logical_type),
    nodes.TypedLiteral: lambda node: f"{node.args['kind']} {string_text(node.this)}",
    nodes.IntervalLiteral: _interval,
    nodes.TimeDifference: lambda node: f"({to_sql(node.this)}) {_interval_units(node)}",
    nodes.TimeUnit: lambda node: str(node.args["this"]),
    nodes.RowConstructor: _row,
    nodes.ArrayConstructor: lambda node: f"ARRAY[{_list(node.expressions)}]",
    nodes.MapConstructor: lambda node: f"MAP[{_list(node.expressions)}]",
    nodes.SubqueryConstructor: lambda node: f"{node.args['kind']}({to_sql(node.this)})",
    nodes.PeriodPredicate: lambda node: _binary(node.args["kind"])(node),
    nodes.IsJson: lambda node: f"{to_sql(node.this)} IS JSON {node.args['kind']}",
    nodes.JsonBehavior: _json_behavior,
    nodes.JsonEntry: lambda node: f"KEY {to_sql(node.this)} VALUE {to_sql(node.expression)}",
    nodes.WindowSpecification: _window,
    nodes.WindowFrame: _frame,
    nodes.FrameBound: _frame_bound,
    nodes.NamedWindow: lambda node: f"{to_sql(node.this)} AS {to_sql(node.expression)}",
    nodes.Hint: _hint,
    nodes.HintOption: lambda node: f"{to_sql(node.this)}={to_sql(node.expression)}",
    nodes.JoinedTables: _joined_tables,
    nodes.SystemTime: lambda node: f"FOR SYSTEM_TIME AS OF {to_sql(node.this)}",
    nodes.TableFunctionCall: _function_table,
    nodes.CollectionTable: _collection_table,
    nodes.TableArgument: _table_argument,
    nodes.ModelArgument: lambda node: f"MODEL {to_sql(node.this)}",
    nodes.Descriptor: lambda node: f"DESCRIPTOR({_list(node.expressions)})",
    nodes.MatchRecognize: _match_recognize,
    nodes.AfterMatch: _after_match,
    nodes.PatternSubset: lambda node: f"{to_sql(node.this)} = ({_list(node.expressions)})",
    nodes.MatchSemantics: lambda node: f"{node.args['kind']} {to_sql(node.this)}",
}


def pattern_text(node: exp.Expr) -> str:
    """Text of a pattern, as it stands in ``PATTERN (...)``."""
    return _PATTERN_PRINTERS[type(node)](node)


def _permutation(node: nodes.PatternPermutation) -> str:
    return f"PERMUTE({', '.join(map(pattern_text, node.expressions))})"


def _quantifier(node: nodes.PatternQuantifier) -> str:
    least, most = node.args["least"], node.args.get("most")
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    sign = signs.get((least, most))
    if sign is None:
        sign = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    reluctant = "?" if node.args.get("reluctant") else ""
    return f"{_in_brackets(node.this)}{sign}{reluctant}"


def _in_brackets(node: exp.Expr) -> str:
    """Text of a pattern's operand, in brackets if it is more than one variable."""
    text = pattern_text(node)
    whole = nodes.PatternVariable | nodes.PatternExclusion | nodes.PatternPermutation
    return text if isinstance(node, whole) else f"({text})"


def _concatenation(node: nodes.PatternConcatenation) -> str:
    nested = nodes.PatternAlternation | nodes.PatternConcatenation
    return " ".join(
        f"({pattern_text(part)})" if isinstance(part, nested) else pattern_text(part)
        for part in node.expressions
    )


def _alternation(node: nodes.PatternAlternation) -> str:
    return " | ".join(
        f"({pattern_text(part)})"
        if isinstance(part, nodes.PatternAlternation)
        else pattern_text(part)
        for part in node.expressions
    )


_PATTERN_PRINTERS: dict[type[exp.Expr], Callable[[Any], str]] = {
    nodes.PatternVariable: lambda node: identifier_text(node.this),
    nodes.PatternConcatenation: _concatenation,
    nodes.PatternAlternation: _alternation,
    nodes.PatternPermutation: _permutation,
    nodes.PatternExclusion: lambda node: f"{{- {pattern_text(node.this)} -}}",
    nodes.PatternQuantifier: _quantifier,
}
