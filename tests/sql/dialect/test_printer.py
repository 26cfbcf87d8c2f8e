"""What is printed is parsed again to an equal tree, whatever was parsed."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from millrace.sql.dialect.printer import to_sql
from millrace.sql.parser import parse_expression, parse_query
from millrace.sql.position import position_of, source_text

NAMES = st.sampled_from(["a", "b", "price", "`order`", "`a ``b`", "Größe", "data", "`2x`", "key"])
PATHS = st.lists(NAMES, min_size=1, max_size=6).map(".".join)
LITERALS = st.sampled_from(
    [
        *("1", "0.5", "1E-3", ".5", "'it''s'", "''", "X'0aFF'", "TRUE", "NULL", "UNKNOWN"),
        *("DATE '2020-01-01'", "TIME '10:00:00'", "TIMESTAMP '2020-01-01 00:00:00.123'"),
        *("(a - b) DAY", "(a - b) DAY(2) TO SECOND(3)", "(a - b) YEAR TO MONTH"),
        *("INTERVAL '1' DAY", "INTERVAL '1' DAY(3)", "INTERVAL -'2-3' YEAR TO MONTH"),
        *("INTERVAL '1 10:00:00.123' DAY(2) TO SECOND(3)", "INTERVAL '2.5' SECOND(2, 3)"),
        *("INTERVAL '3' MINUTES", "U&'\\00e9'", "U&'!00e9' UESCAPE '!'", "_UTF16'x'", "N'x'"),
        *("CURRENT_DATE", "LOCALTIMESTAMP", "PI()", "COUNT(*)", "c.d.f(1)"),
    ]
)
TYPES = st.sampled_from(
    [
        *("INT", "DECIMAL(10, 2)", "VARCHAR(3) NOT NULL", "ROW<a INT, `b c` STRING NOT NULL>"),
        *("MULTISET<STRING>", "MAP<INT, ARRAY<BYTES>>", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        *("INTERVAL DAY TO SECOND(3)", "INT ARRAY", "DOUBLE PRECISION", "ROW<>"),
    ]
)
SIGNS = st.sampled_from(
    [
        *("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">", "<=", ">=", "AND", "OR"),
        *("IS DISTINCT FROM", "IS NOT DISTINCT FROM", "LIKE", "NOT LIKE", "SIMILAR TO"),
    ]
)
SUFFIXES = st.sampled_from(
    ["IS NULL", "IS NOT TRUE", "IS UNKNOWN", "IS JSON", "IS NOT JSON SCALAR", "IN (1, 2)"]
)


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Calls whose arguments have a syntax of their own."""
    texts = [
        "f({}, {})",
        "g(x => {}, y => DEFAULT)",
        "SUM(DISTINCT {}) FILTER (WHERE {})",
        "LISTAGG({}) WITHIN GROUP (ORDER BY {} DESC NULLS LAST)",
        "LAG({}, 2) IGNORE NULLS OVER (PARTITION BY a, b ORDER BY c)",
        "SUM({}) OVER (w ROWS BETWEEN ({}) PRECEDING AND UNBOUNDED FOLLOWING)",
        "MAX({}) OVER w",
        "EXTRACT(DAY FROM {})",
        "FLOOR({} TO HOUR)",
        "CEIL({})",
        "TIMESTAMPADD(QUARTER, {}, {})",
        "OVERLAY({} PLACING {} FROM 1 FOR 2)",
        "SUBSTRING({} FROM {})",
        "TRIM(LEADING {} FROM {})",
        "TRIM(BOTH FROM {})",
        "TRIM({})",
        "POSITION(({}) IN {} FROM 2)",
        "JSON_VALUE({}, '$.a' RETURNING INT DEFAULT {} ON EMPTY NULL ON ERROR)",
        "JSON_QUERY({}, '$.a' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY)",
        "JSON_EXISTS({}, '$' UNKNOWN ON ERROR)",
        "JSON_OBJECT(KEY ({}) VALUE {} ABSENT ON NULL)",
        "JSON_OBJECT(({}) : {}, 'k' VALUE 1)",
        "JSON_ARRAY({}, {} NULL ON NULL)",
        "JSON_ARRAYAGG({} ABSENT ON NULL)",
        "CASE WHEN {} THEN {} ELSE {} END",
        "CASE {} WHEN {} THEN {} WHEN 1 THEN 2 END",
        "ROW({}, {})",
        "({}, {}) OVERLAPS (1, 2)",
        "ARRAY[{}, {}][1]",
        "MAP[{}, {}]['k'].a",
        "({}).a.b",
        "{} BETWEEN SYMMETRIC ({}) AND ({})",
        "({}) NOT BETWEEN ({}) AND ({})",
        "({}) NOT LIKE ({}) ESCAPE '!'",
        "NOT {}",
        "- {}",
        "EXISTS (SELECT {} FROM t)",
        "({}) IN (SELECT a FROM t WHERE {})",
        "({}) = ANY (SELECT {})",
        "(SELECT {})",
        "({})",
    ]

    def filled(text: str) -> st.SearchStrategy[str]:
        return st.tuples(*[inner] * text.count("{}")).map(lambda parts: text.format(*parts))

    return st.sampled_from(texts).flatmap(filled)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions of smaller ones."""
    return st.one_of(
        calls(inner),
        st.tuples(inner, SIGNS, inner).map(" ".join),
        st.tuples(inner, SUFFIXES).map(" ".join),
        st.tuples(inner, TYPES).map(lambda parts: "CAST({} AS {})".format(*parts)),
        st.tuples(inner, TYPES).map(lambda parts: "TRY_CAST({} AS {})".format(*parts)),
    )


EXPRESSIONS = st.recursive(st.one_of(PATHS, LITERALS), larger, max_leaves=6)
TABLES = st.sampled_from(
    [
        "t",
        "c.d.t AS x (a, b)",
        "t /*+ OPTIONS('a.b'='C', 'd'='1') */ x",
        "t FOR SYSTEM_TIME AS OF o.p AS x",
        "(SELECT 1 AS a) AS x",
        "(VALUES (1, 'a'), (2, 'b')) AS x (a, b)",
        "TABLE(TUMBLE(TABLE t, DESCRIPTOR(a), INTERVAL '1' DAY)) x",
        "SESSION(DATA => TABLE c.d.t PARTITION BY (a, b) ORDER BY c DESC, GAP => INTERVAL '1' DAY)",
        "LATERAL TABLE(f(a, b)) AS x (c)",
        "LATERAL (SELECT 1) AS x",
        "UNNEST(a, b) WITH ORDINALITY AS x (a, o)",
        "ML_PREDICT(TABLE t, MODEL c.m, DESCRIPTOR(a, b))",
        "a LEFT JOIN (b CROSS JOIN c) ON TRUE",
        "a FULL OUTER JOIN b USING (c, d)",
        "(a, b) NATURAL JOIN c",
        "t MATCH_RECOGNIZE (PARTITION BY a ORDER BY b MEASURES FINAL LAST(A.b) AS x, RUNNING "
        "SUM(A.b + 1) AS y ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (^ (A B)+? "
        "(C | D E?)* {- F{2,} -} G{,3} H{4} PERMUTE(I, J) (K)+ $) WITHIN INTERVAL '1' DAY SUBSET "
        "X = (A, B) DEFINE A AS A.x > PREV(A.x, 2), B AS TRUE) AS m (p)",
    ]
)
TAILS = st.sampled_from(
    [
        "",
        " GROUP BY a, ROLLUP (b, (c, d))",
        " GROUP BY GROUPING SETS ((a, b), a, (), CUBE (c)) HAVING COUNT(*) > 1",
        " WINDOW w AS (PARTITION BY a ORDER BY b), v AS (w RANGE UNBOUNDED PRECEDING)",
        " ORDER BY a DESC NULLS FIRST, b LIMIT 3 OFFSET 2",
        " OFFSET 1 ROW FETCH FIRST 2 ROWS ONLY",
        " UNION ALL SELECT 1 INTERSECT SELECT 2 EXCEPT ALL (SELECT 3 ORDER BY 1)",
        " QUALIFY ROW_NUMBER() OVER (ORDER BY a) = 1",
    ]
)
HEADS = st.sampled_from(
    [
        "SELECT ",
        "SELECT DISTINCT ",
        "SELECT t.*, *, ",
        "WITH x (a) AS (SELECT 1), y AS (VALUES 1, (2)) SELECT ",
        "SELECT /*+ STATE_TTL('a'='1d'), BROADCAST(a, b), NO_ARGUMENTS */ ",
    ]
)
QUERIES = st.builds(
    "{}{} AS `x y`, {} FROM {}, {} WHERE {}{}".format,
    HEADS,
    EXPRESSIONS,
    EXPRESSIONS,
    TABLES,
    TABLES,
    EXPRESSIONS,
    TAILS,
)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS)
def test_expressions_print_to_what_they_were(text: str) -> None:
    """Parsed, printed, parsed again: the trees are equal, and so are the texts."""
    tree = parse_expression(text)
    printed = to_sql(tree)
    assert parse_expression(printed) == tree
    assert to_sql(parse_expression(printed)) == printed


@settings(max_examples=150, deadline=None)
@given(QUERIES)
@example("SELECT 1 FROM t WHERE 1 + NOT 1 IS NULL")
def test_queries_print_to_what_they_were(text: str) -> None:
    """All clauses, tables and hints."""
    tree = parse_query(text)
    assert parse_query(to_sql(tree)) == tree


@settings(max_examples=50, deadline=None)
@given(QUERIES)
def test_every_node_knows_its_place(text: str) -> None:
    """What a node was parsed from lies within what its parent was parsed from."""
    for node in parse_query(text).walk():
        place = position_of(node)
        assert node.meta.get("line") == 1, node
        assert place is not None
        assert 0 <= place.start < place.end <= len(text)
        if node.parent is not None:
            outer = position_of(node.parent)
            assert outer is not None
            assert outer.start <= place.start < place.end <= outer.end, node


def test_nodes_are_found_in_the_text() -> None:
    """What an error about a node underlines."""
    text = "SELECT a + f(b, 1) AS c\nFROM t WHERE x LIKE 'y' ESCAPE '!'"
    tree = parse_query(text)
    found = {source_text(node, text) for node in tree.walk()}
    assert {"a + f(b, 1)", "f(b, 1)", "FROM t", "x LIKE 'y'", "x LIKE 'y' ESCAPE '!'"} <= found
    place = position_of(tree.args["where"])
    assert place is not None
    assert (place.line, place.column) == (2, 8)


def test_other_nodes_are_refused() -> None:
    """Nodes that the parser never makes."""
    with pytest.raises(TypeError, match="Lower is not syntax of Flink SQL"):
        to_sql(exp.Lower(this=exp.Null()))
