"""Flink's query language as trees of sqlglot nodes: the node of each piece of syntax.

Nodes of sqlglot (``exp``) are used if they have Flink's meaning, and classes of
`millrace.sql.dialect.nodes` (``nodes``) if sqlglot has no such node. No function is normalised:
every call is a `FunctionCall` by name, for the binder to look up. Every node knows its place:
`millrace.sql.position.position_of(node)`, made of ``line``, ``col``, ``start``, ``end`` in
``node.meta``.
Lists are Python lists, flags True or absent. `millrace.sql.dialect.printer.to_sql` prints a tree;
``node.sql()`` of sqlglot does not know these nodes.

**Queries.** Set operations, SELECT and VALUES may have ``with_``, ``order``, ``limit``,
``offset``.

- ``SELECT a, b AS c FROM ...``: `exp.Select`: ``expressions`` (`exp.Alias` around those with a
  name), ``distinct`` (`exp.Distinct`), ``hint`` (`exp.Hint` of `nodes.Hint`), ``from_``
  (`exp.From` of **one** table tree), ``where``, ``group``, ``having``, ``windows``
  (`nodes.NamedWindow`)
- ``*``, ``t.*``, ``t.r.*``: `exp.Star`, `exp.Column` whose ``this`` is a Star
- ``WITH x (a) AS (...)``: `exp.With` of `exp.CTE`; ``alias`` is a `exp.TableAlias`
- ``UNION [ALL]``, ``INTERSECT``, ``EXCEPT``/``MINUS``: `exp.Union`, `exp.Intersect`,
  `exp.Except`: ``this``, ``expression``, ``distinct`` (bool); a query in brackets is an
  `exp.Subquery` without alias
- ``VALUES (1, 'a'), (2, 'b')``: `exp.Values`: ``expressions`` are `exp.Tuple`, also of one value
  without brackets
- ``TABLE t`` as a query: `exp.Select` of ``*`` from it
- ``GROUP BY a, ROLLUP (a, (b, c)), CUBE (..), GROUPING SETS ((a), ())``: `exp.Group`:
  ``expressions`` in order, of expressions, `exp.Rollup`, `exp.Cube`, `exp.GroupingSets`; ``()``
  and lists are `exp.Tuple`
- ``ORDER BY a DESC NULLS LAST``: `exp.Order` of `exp.Ordered`: ``desc``; ``nulls_first`` True,
  False, or None if not said
- ``LIMIT 3``, ``FETCH NEXT 3 ROWS ONLY``, ``OFFSET 2 ROWS``: `exp.Limit`, `exp.Offset`:
  ``expression``; LIMIT ALL is none

**Tables.** One tree: joins are nested, left first; each may have ``alias`` (`exp.TableAlias`:
``this``, ``columns``).

- ``c.d.t /*+ OPTIONS(..) */ FOR SYSTEM_TIME AS OF x AS a (b, c)``: `exp.Table`: ``this``, ``db``,
  ``catalog``, ``hints`` (list of `nodes.Hint`), ``version`` (`nodes.SystemTime`)
- ``a JOIN b ON ..``, ``a, b``, ``NATURAL``, ``USING``: `nodes.JoinedTables`
- ``(SELECT ..) AS t``, ``(VALUES ..) AS t``: `exp.Subquery`
- ``LATERAL (SELECT ..) AS t``: `exp.Lateral` of a Subquery without alias
- ``TUMBLE(TABLE t, ..)``, ``TABLE(f(x))``, ``LATERAL TABLE(f(x)) AS t (a)``, ``f(input => TABLE
  t)``: `nodes.TableFunctionCall` of a FunctionCall
- ``TABLE t PARTITION BY a ORDER BY b`` as an argument: `nodes.TableArgument`
- ``DESCRIPTOR(a)``, ``MODEL m``, ``DEFAULT``: `nodes.Descriptor` of Identifiers,
  `nodes.ModelArgument`, `nodes.DefaultValue`
- ``name => value``: `exp.Kwarg`: Identifier, value
- ``UNNEST(a) WITH ORDINALITY AS t (x, o)``: `nodes.CollectionTable`
- ``t MATCH_RECOGNIZE (..) AS m``: `nodes.MatchRecognize`; variables' columns ``A.price`` are
  `exp.Column` with table A; ``PREV``, ``LAST`` are FunctionCalls; ``FINAL x`` is
  `nodes.MatchSemantics`

**Expressions.**

- ``a``, ``t.a``, ``c.d.t.a``: `exp.Column`: ``this``, ``table``, ``db``, ``catalog``, whatever
  they mean: the binder tells tables from fields. Longer: `exp.Dot` around it, one for each name.
  `names_of(node)` gives all
- ``f(x).a``, ``(t.r).a``, ``a[1].b``: `exp.Dot`: ``this``, ``expression`` (Identifier); ``.*``
  has a Star
- ``a[1]``, ``m['k']``: `exp.Bracket`: ``this``, ``expressions`` of one, as written
- ``1``, ``1.5``, ``1E3``, ``'x'``, ``X'FF'``: `exp.Literal` (text; ``is_string``),
  `exp.HexString`
- ``TRUE``, ``NULL``, ``UNKNOWN``: `exp.Boolean`, `exp.Null`, `nodes.Unknown`
- ``DATE '..'``, ``TIME``, ``TIMESTAMP``: `nodes.TypedLiteral`
- ``INTERVAL '1 10:00' DAY TO MINUTE``: `nodes.IntervalLiteral`
- ``(a - b) DAY TO MINUTE``: `nodes.TimeDifference`
- ``+ - * / % ||``, unary ``-``: `exp.Add` .. `exp.Mod`, `exp.DPipe`, `exp.Neg`; unary ``+`` is
  dropped
- ``= <> < > <= >=``: `exp.EQ`, `exp.NEQ`, `exp.LT`, `exp.GT`, `exp.LTE`, `exp.GTE`
- ``a > ALL (query)``, ``= ANY``, ``= SOME``: the comparison with `exp.All` or `exp.Any` on the
  right
- ``AND OR NOT``, ``(a)``: `exp.And`, `exp.Or` (long chains are balanced), `exp.Not`, `exp.Paren`
- ``a IS [NOT] NULL / TRUE / FALSE / UNKNOWN``: `exp.Is` (``expression``: Null, Boolean, Unknown),
  in `exp.Not`
- ``IS [NOT] DISTINCT FROM``: `exp.NullSafeNEQ`; with NOT `exp.NullSafeEQ`
- ``IS [NOT] JSON OBJECT``: `nodes.IsJson`, in `exp.Not`
- ``[NOT] LIKE x ESCAPE '!'``, ``SIMILAR TO``: `exp.Like`, `exp.SimilarTo`, in `exp.Escape`, in
  `exp.Not`
- ``[NOT] BETWEEN [SYMMETRIC] a AND b``: `exp.Between`: ``low``, ``high``, ``symmetric``
- ``[NOT] IN (1, 2)``, ``IN (query)``: `exp.In`: ``expressions``, or ``query`` (no Subquery around
  it)
- ``EXISTS (query)``, ``(query)``: `exp.Exists` (the query), `exp.Subquery`
- ``CASE a WHEN b THEN c ELSE d END``: `exp.Case`: ``this``, ``ifs`` (`exp.If`: ``this``,
  ``true``), ``default``
- ``CAST(a AS INT)``, ``TRY_CAST``: `exp.Cast`, `exp.TryCast`: ``to`` is `nodes.TypeName`
- ``ROW(a, b)``, ``(a, b)``, ``ARRAY[..]``, ``MAP[..]``, ``ARRAY(query)``: `nodes.RowConstructor`,
  `nodes.ArrayConstructor`, `nodes.MapConstructor`, `nodes.SubqueryConstructor`
- ``(a, b) OVERLAPS (c, d)``; ``PRECEDES`` and kin: `nodes.Overlaps`, `nodes.PeriodPredicate`, of
  RowConstructors or columns
- ``f(DISTINCT a) FILTER (WHERE ..) OVER w``: `nodes.FunctionCall`, all in one node
- ``CURRENT_DATE``, ``LOCALTIME``, ... without brackets: FunctionCall with ``bare``

**Functions with a syntax of their own** are FunctionCalls with arguments in this order (units are
`nodes.TimeUnit`):

- ``EXTRACT(YEAR FROM x)``: EXTRACT(unit, x)
- ``CEIL(x TO DAY)``, ``FLOOR(x TO DAY)``: CEIL(x, unit)
- ``TIMESTAMPADD(DAY, n, x)``, ``TIMESTAMPDIFF(DAY, a, b)``: the unit first
- ``POSITION(a IN b FROM n)``: POSITION(a, b, n)
- ``OVERLAY(a PLACING b FROM n FOR m)``: OVERLAY(a, b, n, m)
- ``SUBSTRING(a FROM n FOR m)``: SUBSTRING(a, n, m)
- ``TRIM(BOTH x FROM y)``: TRIM(word, x, y): the word is an `exp.Var`, x an `exp.Literal` ' ' if
  not said; TRIM(y) has one argument
- ``JSON_VALUE(x, '$.a' RETURNING INT DEFAULT 0 ON EMPTY NULL ON ERROR)``: arguments, then a
  `nodes.JsonBehavior` per clause
- ``JSON_OBJECT(KEY a VALUE b, c : d NULL ON NULL)``: `nodes.JsonEntry` each, then JsonBehavior
"""
