"""Random queries that mean the same in Flink SQL and in DuckDB, and the tables they read.

What the two define differently is left out: integer division, averages of integers and decimals,
aggregates of no rows without GROUP BY (a stream gives none), sums whose value depends on their
order. Windowing functions are written ``<<tumble tt>>``, what is looked up ``<<lookup dim>>``, and
so on; `flink_text` and `duck_text` replace them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

__all__ = [
    "COLUMNS",
    "DIM_COLUMNS",
    "DIM_ROWS",
    "ROWS",
    "duck_text",
    "flink_text",
    "queries",
]

COLUMNS = {
    "id": "BIGINT",
    "k": "INT",
    "v": "BIGINT",
    "x": "DOUBLE",
    "d": "DECIMAL(10, 2)",
    "s": "STRING",
    "b": "BOOLEAN",
    "ts": "TIMESTAMP(3)",
}
DIM_COLUMNS = {"k": "INT", "s": "STRING", "v": "BIGINT", "d": "DECIMAL(10, 2)", "b": "BOOLEAN"}
"""Columns of the table that is looked up."""
START = datetime(2024, 2, 28, 23, 59, 50)


def _with_ids(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """An id per row, and a time that no other row has and that is at most 12 s late."""
    return [
        (index, *row[:-1], START + timedelta(seconds=index + row[-1], milliseconds=index))
        for index, row in enumerate(rows)
    ]


ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 3),
        st.none() | st.integers(-20, 20),
        st.none() | st.sampled_from([-2.5, 0.0, 1.25, 100.0]),
        st.none() | st.sampled_from([Decimal(t) for t in ("-7.25", "0.00", "0.01", "12.50")]),
        st.none() | st.sampled_from(["a", "b", "", "ä c", "A%"]),
        st.none() | st.booleans(),
        st.integers(0, 11),
    ),
    max_size=30,
).map(_with_ids)


DIM_ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 3),
        st.none() | st.sampled_from(["a", "b", "", "ä c"]),
        st.none() | st.integers(-20, 20),
        st.none() | st.sampled_from([Decimal(t) for t in ("-7.25", "0.00", "12.50")]),
        st.none() | st.booleans(),
    ),
    max_size=8,
)


@dataclass(frozen=True)
class Column:
    """A column of a relation: what is written for it, and its kind (see `_Grammar.KINDS`)."""

    name: str
    kind: str


@dataclass(frozen=True)
class Relation:
    """A query in parentheses or a table's name, and its columns."""

    text: str
    columns: tuple[Column, ...]


# n: BIGINT, x: DOUBLE, d: DECIMAL, s: STRING, b: BOOLEAN, t: TIMESTAMP, y: an inexact DOUBLE
TABLE_COLUMNS = tuple(map(Column, COLUMNS, "nnnxdsbt"))
DIM_TABLE_COLUMNS = tuple(map(Column, DIM_COLUMNS, "nsndb"))
LITERALS = {
    "n": ["0", "1", "3", "-5"],
    "x": ["CAST(1.25 AS DOUBLE)", "CAST(0 AS DOUBLE)"],
    "d": ["0.00", "0.01", "12.50"],
    "s": ["'a'", "''", "'ä'"],
    "b": ["TRUE", "FALSE"],
    "t": ["TIMESTAMP '2024-02-29 00:00:00'"],
}
SQL_TYPE = {"n": "BIGINT", "x": "DOUBLE", "d": "DECIMAL(10, 2)", "s": "STRING", "b": "BOOLEAN"}
SQL_TYPE["t"] = "TIMESTAMP(3)"


class _Grammar:
    """Draws a query.

    Args:
        draw: of hypothesis.
    """

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw
        self._names = 0

    def one_of(self, choices: Sequence[Any]) -> Any:
        """One of these; the first is the simplest."""
        return choices[self._draw(st.integers(0, len(choices) - 1))]

    def maybe(self) -> bool:
        """True or False."""
        return bool(self._draw(st.booleans()))

    def name(self) -> str:
        """A name that no other column or table has."""
        self._names += 1
        return f"c{self._names}"

    # -- expressions -------------------------------------------------------------------

    def value(self, kind: str, columns: Sequence[Column], depth: int = 2) -> str:
        """An expression of a kind."""
        if kind == "y":
            return self.one_of([c.name for c in columns if c.kind == "y"])
        fitting = [column.name for column in columns if column.kind == kind]
        simple = [*fitting, *LITERALS[kind]]
        if depth <= 0 or self.one_of([False, False, True]) is False:
            return self.one_of(fitting or simple)
        sub = lambda other=kind: self.value(other, columns, depth - 1)  # noqa: E731
        generic = self.one_of(["case", "coalesce", "nullif", "own", "own", "own"])
        if generic == "case":
            default = self.one_of(["", f" ELSE {sub()}"])
            return f"CASE WHEN {sub('b')} THEN {sub()}{default} END"
        if generic == "coalesce":
            return f"COALESCE({sub()}, {self.one_of(LITERALS[kind])})"
        if generic == "nullif":
            return f"NULLIF({sub()}, {self.one_of(LITERALS[kind])})"
        return getattr(self, f"_{kind}")(sub)

    def _n(self, sub: Callable[..., str]) -> str:
        form = self.one_of(["({0} + {1})", "({0} - {1})", "(-{0})", "ABS({0})", "({0} * 3)", "len"])
        if form == "len":
            return f"CHAR_LENGTH({sub('s')})"
        return form.format(sub(), sub())

    def _x(self, sub: Callable[..., str]) -> str:
        form = self.one_of(["({0} + {1})", "({0} * 2)", "ABS({0})", "cast"])
        return f"CAST({sub('n')} AS DOUBLE)" if form == "cast" else form.format(sub(), sub())

    def _d(self, sub: Callable[..., str]) -> str:
        return self.one_of(["({0} + {1})", "({0} - {1})", "ABS({0})"]).format(sub(), sub())

    def _s(self, sub: Callable[..., str]) -> str:
        form = self.one_of(
            ["UPPER({0})", "({0} || {1})", "SUBSTRING({0} FROM 1 FOR 2)", "TRIM({0})", "cast"]
        )
        return f"CAST({sub('n')} AS STRING)" if form == "cast" else form.format(sub(), sub())

    def _t(self, sub: Callable[..., str]) -> str:
        return f"({sub()} + INTERVAL '5' SECOND)"

    def _b(self, sub: Callable[..., str]) -> str:
        form = self.one_of(["cmp", "null", "not", "and", "or", "in", "between", "like", "is"])
        if form == "cmp":
            kind = self.one_of("nsdxt")
            operator = self.one_of(["=", "<>", "<", ">=", "IS DISTINCT FROM"])
            return f"({sub(kind)} {operator} {sub(kind)})"
        if form == "null":
            return f"({sub(self.one_of('nsdxtb'))} IS {self.one_of(['', 'NOT '])}NULL)"
        if form == "in":
            kind = self.one_of("nsd")
            listed = ", ".join(LITERALS[kind][: self.one_of([1, 2, 3])])
            return f"({sub(kind)} {self.one_of(['', 'NOT '])}IN ({listed}))"
        if form == "between":
            return f"({sub('n')} BETWEEN {sub('n')} AND {sub('n')})"
        if form == "like":
            return f"({sub('s')} LIKE {self.one_of(repr_texts())})"
        if form == "is":
            return f"({sub()} IS {self.one_of(['TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE'])})"
        if form == "not":
            return f"(NOT {sub()})"
        return f"({sub()} {form.upper()} {sub()})"

    # -- relations ---------------------------------------------------------------------

    def relation(self, depth: int) -> Relation:
        """A table or a query over others."""
        if depth <= 0:
            return Relation(self.one_of(["t", "u"]), TABLE_COLUMNS)
        return getattr(self, f"_{self.one_of(FORMS)}")(depth - 1)

    def source(self, depth: int) -> tuple[str, tuple[Column, ...]]:
        """A relation with a name before its columns."""
        relation, alias = self.relation(depth), self.name()
        columns = tuple(Column(f"{alias}.{c.name}", c.kind) for c in relation.columns)
        return f"{relation.text} AS {alias}", columns

    def where(self, columns: Sequence[Column]) -> str:
        return f" WHERE {self.value('b', columns)}" if self.maybe() else ""

    def named(self, values: Sequence[tuple[str, str]]) -> tuple[str, tuple[Column, ...]]:
        """A select list of texts and kinds."""
        made = tuple(Column(self.name(), kind) for _, kind in values)
        pairs = zip(values, made, strict=True)
        return ", ".join(f"{text} AS {column.name}" for (text, _), column in pairs), made

    def some(self, columns: Sequence[Column], most: int = 4) -> list[tuple[str, str]]:
        """Columns, and expressions of them."""
        kinds = [self.one_of(columns).kind for _ in range(self.one_of(range(1, most + 1)))]
        return [(self.value(kind, columns), kind) for kind in kinds]

    def _project(self, depth: int) -> Relation:
        source, columns = self.source(depth)
        selected, made = self.named(self.some(columns))
        distinct = self.one_of(["", "", "DISTINCT "])
        return Relation(f"(SELECT {distinct}{selected} FROM {source}{self.where(columns)})", made)

    def aggregates(self, columns: Sequence[Column]) -> list[tuple[str, str]]:
        """Calls of aggregate functions."""
        made = []
        for _ in range(self.one_of([1, 2, 3])):
            kind = self.one_of([c.kind for c in columns if c.kind not in "by"] or ["n"])
            argument = self.value(kind, columns, 1)
            calls = [("COUNT(*)", "n"), ("COUNT({})", "n"), ("COUNT(DISTINCT {})", "n")]
            calls += [("MIN({})", kind), ("MAX({})", kind)]
            if kind in "ndx":
                calls += [("SUM({})", kind)]
            if kind == "x":
                calls += [("AVG({})", "y")]
            if kind == "n":
                calls += [("SUM(DISTINCT {})", "n")]
            text, result = self.one_of(calls)
            kept = self.one_of(["", "", f" FILTER (WHERE {self.value('b', columns, 1)})"])
            made.append((text.format(argument) + kept, result))
        return made

    def keys(self, columns: Sequence[Column], most: int) -> list[tuple[str, str]]:
        exact = [column for column in columns if column.kind not in "yx"]
        if not exact:
            return []
        first = self.one_of(range(len(exact)))
        return [(c.name, c.kind) for c in exact[first : first + self.one_of(range(1, most + 1))]]

    def _aggregate(self, depth: int) -> Relation:
        source, columns = self.source(depth)
        keys, calls = self.keys(columns, 2), self.aggregates(columns)
        having = self.one_of(["", " HAVING COUNT(*) > 1", " HAVING MAX(1) = 1"])
        selected, made = self.named([*keys, *calls])
        if not keys:
            group, having = "", " HAVING COUNT(*) > 0"
        else:
            group = " GROUP BY " + ", ".join(text for text, _ in keys)
        text = f"(SELECT {selected} FROM {source}{self.where(columns)}{group}{having})"
        return Relation(text, made)

    def _sets(self, depth: int) -> Relation:
        source, columns = self.source(depth)
        keys, calls = self.keys(columns, 3), self.aggregates(columns)
        if not keys:
            return self._project(depth)
        texts = [text for text, _ in keys]
        sets = self.one_of(["ROLLUP", "CUBE", "GROUPING SETS"])
        listed = ", ".join(texts)
        if sets == "GROUPING SETS":
            listed = f"({listed}), ({texts[-1]}), ()"
        selected, made = self.named([*keys, *calls, (f"GROUPING({texts[0]})", "n")])
        group = f"GROUP BY {sets} ({listed}) HAVING COUNT(*) > 0"
        return Relation(f"(SELECT {selected} FROM {source} {group})", made)

    def _join(self, depth: int) -> Relation:
        (one, left), (two, right) = self.source(depth), self.source(self.one_of([0, depth]))
        condition = self.equal(left, right)
        if self.maybe():
            condition += f" AND {self.value('b', [*left, *right], 1)}"
        kind = self.one_of(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        selected, made = self.named([*self.some(left, 2), *self.some(right, 2)])
        where = self.where([*left, *right])
        return Relation(f"(SELECT {selected} FROM {one} {kind} {two} ON {condition}{where})", made)

    def _lookup(self, depth: int) -> Relation:
        one, left = self.source(depth)
        alias = self.name()
        right = [Column(f"{alias}.{column.name}", column.kind) for column in DIM_TABLE_COLUMNS]
        # a key has the type of what it equals, and other whole numbers may be BIGINT
        keys = [column for column in left if column.kind != "n" or column.name.endswith(".k")]
        condition = self.equal(keys, right)
        if " = 1" in condition or condition.startswith("1 = "):
            return self._project(depth)  # a look-up needs a key
        if self.maybe():
            condition += f" AND {self.value('b', [*left, *right], 1)}"
        kind = self.one_of(["JOIN", "LEFT JOIN"])
        selected, made = self.named([*self.some(left, 2), *self.some(right, 2)])
        where = self.where([*left, *right])
        two = f"<<{self.one_of(['lookup dim', 'lookup adim'])}>> AS {alias}"
        return Relation(f"(SELECT {selected} FROM {one} {kind} {two} ON {condition}{where})", made)

    def _process(self, depth: int) -> Relation:
        key = self.one_of(["k", "s", "b"])
        kept = Column(key, dict(zip(COLUMNS, TABLE_COLUMNS, strict=True))[key].kind)
        columns = [kept, Column("seen", "n")]
        selected, made = self.named([(c.name, c.kind) for c in self._drawn(columns)])
        windows = f"<<counting {self.one_of('tu')} {key}>>"
        return Relation(f"(SELECT {selected} FROM {windows}{self.where(columns)})", made)

    def _drawn(self, columns: Sequence[Column]) -> list[Column]:
        return [self.one_of(columns) for _ in range(self.one_of([2, 1]))]

    def equal(self, left: Sequence[Column], right: Sequence[Column]) -> str:
        kinds = {c.kind for c in left} & {c.kind for c in right} - {"y", "x"}
        kind = self.one_of(sorted(kinds)) if kinds else "n"
        one = self.one_of([c.name for c in left if c.kind == kind] or ["1"])
        two = self.one_of([c.name for c in right if c.kind == kind] or ["1"])
        return f"{one} = {two}"

    def _subquery(self, depth: int) -> Relation:
        (one, left), (two, right) = self.source(depth), self.source(self.one_of([0, depth]))
        selected, made = self.named(self.some(left, 3))
        form = self.one_of(["exists", "in", "scalar", "anti"])
        inner = self.where(right)
        if form == "in":
            a, _, b = self.equal(left, right).partition(" = ")
            negated = self.one_of(["", "NOT "])
            guard = f"{inner} AND {b} IS NOT NULL" if inner else f" WHERE {b} IS NOT NULL"
            condition = f"{a} {negated}IN (SELECT {b} FROM {two}{guard if negated else inner})"
        elif form == "scalar":
            column = self.one_of(right)
            if column.kind in "by":
                return self._project(depth)
            best = f"(SELECT MAX({column.name}) FROM {two} WHERE {self.equal(left, right)})"
            found = Column(self.name(), column.kind)
            text = f"(SELECT {selected}, {best} AS {found.name} FROM {one})"
            return Relation(text, (*made, found))
        else:
            condition = self.equal(left, right)
            more = f" AND {self.value('b', [*left, *right], 1)}" if self.maybe() else ""
            negated = "NOT " if form == "anti" else ""
            condition = f"{negated}EXISTS (SELECT 1 FROM {two} WHERE {condition}{more})"
        return Relation(f"(SELECT {selected} FROM {one} WHERE {condition})", made)

    def _union(self, depth: int) -> Relation:
        (one, left), (two, right) = self.source(depth), self.source(self.one_of([0, depth]))
        kinds = [kind for kind in (c.kind for c in left) if kind != "y"][:3] or ["n"]
        values = [(self.value(kind, left, 1), kind) for kind in kinds]
        others = ", ".join(f"CAST({self.value(k, right, 1)} AS {SQL_TYPE[k]})" for k in kinds)
        cast = [(f"CAST({text} AS {SQL_TYPE[kind]})", kind) for text, kind in values]
        selected, made = self.named(cast)
        operator = self.one_of(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        text = f"SELECT {selected} FROM {one} {operator} SELECT {others} FROM {two}"
        return Relation(f"({text})", made)

    def order(self, columns: Sequence[Column]) -> str:
        """An order in which only equal rows are not told apart."""
        directions = ["ASC NULLS FIRST", "DESC NULLS LAST", "ASC NULLS LAST", "DESC NULLS FIRST"]
        first = self.one_of(range(len(columns)))
        turned = [*columns[first:], *columns[:first]]
        return ", ".join(f"{column.name} {self.one_of(directions)}" for column in turned)

    def _top(self, depth: int) -> Relation:
        relation = self.relation(depth)
        columns = [column for column in relation.columns if column.kind != "y"]
        if not columns:
            return relation
        keys = self.keys(columns, 1)
        partition = f"PARTITION BY {keys[0][0]} " if keys and self.maybe() else ""
        number = f"ROW_NUMBER() OVER ({partition}ORDER BY {self.order(columns)})"
        kept = ", ".join(column.name for column in columns)
        shown = self.one_of([kept, f"{kept}, rn"])
        made = (*columns, *([Column("rn", "n")] if shown != kept else []))
        inner = f"(SELECT {kept}, {number} AS rn FROM {relation.text} AS {self.name()})"
        condition = f"rn <= {self.one_of([1, 2, 5])}"
        selected, renamed = self.named([(column.name, column.kind) for column in made])
        text = f"(SELECT {selected} FROM {inner} AS {self.name()} WHERE {condition})"
        return Relation(text, renamed)

    def _limit(self, depth: int) -> Relation:
        relation = self.relation(depth)
        columns = tuple(column for column in relation.columns if column.kind != "y")
        if not columns:
            return relation
        kept = ", ".join(column.name for column in columns)
        tail = f"ORDER BY {self.order(columns)} LIMIT {self.one_of([1, 3, 10])}"
        tail += self.one_of(["", " OFFSET 1"])
        return Relation(f"(SELECT {kept} FROM {relation.text} AS {self.name()} {tail})", columns)

    def _window(self, depth: int) -> Relation:
        table = self.one_of(["tt", "uu"])
        columns = [column for column in TABLE_COLUMNS if column.name != "ts"]
        keys = self.keys(columns, 2) if self.maybe() else []
        calls = self.aggregates(columns)
        selected, made = self.named([("window_start", "t"), ("window_end", "t"), *keys, *calls])
        group = ", ".join(["window_start", "window_end", *(text for text, _ in keys)])
        windows = f"<<{self.one_of(['tumble', 'hop', 'cumulate'])} {table}>>"
        where = self.where(columns)
        return Relation(f"(SELECT {selected} FROM {windows}{where} GROUP BY {group})", made)

    def _over(self, depth: int) -> Relation:
        columns = [column for column in TABLE_COLUMNS if column.name != "ts"]
        partition = self.one_of(["PARTITION BY k ", "PARTITION BY s, b ", ""])
        frame = self.one_of(
            [
                "",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                " RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW",
            ]
        )
        calls = ["COUNT(*)", "COUNT(s)", "SUM(v)", "SUM(d)", "SUM(x)", "MIN(s)", "MAX(v)"]
        over = f"OVER ({partition}ORDER BY ts{frame})"
        values = [(f"{call} {over}", call[4] if call[4] in "dsx" else "n") for call in calls]
        values = [self.one_of(values) for _ in range(self.one_of([1, 2]))]
        values = [(text, "n" if text.startswith("COUNT") else kind) for text, kind in values]
        selected, made = self.named([("id", "n"), *self.some(columns, 2), *values])
        table = self.one_of(["tt", "uu"])
        return Relation(f"(SELECT {selected} FROM {table}{self.where(columns)})", made)


FORMS = ["project", "aggregate", "join", "subquery", "union", "top", "limit", "window", "over"]
FORMS += ["sets", "join", "aggregate", "project", "lookup", "process"]


def repr_texts() -> list[str]:
    """Patterns of LIKE."""
    return ["'a%'", "'%'", "'_'", "'%ä%'", "''"]


@st.composite
def queries(draw: Callable[[Any], Any]) -> str:
    """A query of all columns of a random relation."""
    grammar = _Grammar(draw)
    relation = grammar.relation(draw(st.integers(1, 3)))
    return (
        relation.text[1:-1] if relation.text.startswith("(") else f"SELECT * FROM {relation.text}"
    )


_FLINK_WINDOWS = {
    "tumble": "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND))",
    "hop": "TABLE(HOP(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))",
    "cumulate": "TABLE(CUMULATE(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, "
    "INTERVAL '20' SECOND))",
    "lookup": "{} FOR SYSTEM_TIME AS OF PROCTIME()",
    "counting": "(SELECT {1}, `EXPR$0` AS seen FROM counting(`row` => TABLE {0} PARTITION BY {1}))",
}
_DUCK_WINDOWS = {
    "tumble": """(SELECT *, time_bucket(INTERVAL 10 SECOND, ts) AS window_start,
        time_bucket(INTERVAL 10 SECOND, ts) + INTERVAL 10 SECOND AS window_end FROM {})""",
    "hop": """(SELECT *, time_bucket(INTERVAL 5 SECOND, ts) - n * INTERVAL 5 SECOND AS window_start,
        time_bucket(INTERVAL 5 SECOND, ts) - n * INTERVAL 5 SECOND + INTERVAL 15 SECOND
        AS window_end FROM {}, range(3) AS h(n))""",
    "cumulate": """(SELECT *, time_bucket(INTERVAL 20 SECOND, ts) AS window_start,
        time_bucket(INTERVAL 20 SECOND, ts) + n * INTERVAL 5 SECOND AS window_end
        FROM {}, range(1, 5) AS h(n)
        WHERE ts < time_bucket(INTERVAL 20 SECOND, ts) + n * INTERVAL 5 SECOND)""",
    "lookup": "dim",
    "counting": "(SELECT {1}, row_number() OVER (PARTITION BY {1}) AS seen FROM {0})",
}


def flink_text(query: str) -> str:
    """The query as Flink reads it."""
    return _replaced(query, _FLINK_WINDOWS)


def duck_text(query: str) -> str:
    """The query as DuckDB reads it."""
    return _replaced(query, _DUCK_WINDOWS)


def _replaced(query: str, windows: dict[str, str]) -> str:
    def text(found: re.Match[str]) -> str:
        return windows[found[1]].format(*found[2].split())

    return re.sub(r"<<(\w+) ([\w ]+)>>", text, query)
