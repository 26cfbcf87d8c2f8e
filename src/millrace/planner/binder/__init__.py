"""The binder: turns a query's syntax into the relational tree, with resolved names and types.

`millrace.planner.binder.query.bind_query` binds queries, `millrace.planner.binder.insert` an INSERT
to its table, `millrace.planner.binder.expression.bind_expression` an expression over a row. Errors
are `millrace.planner.binder.errors.SqlValidationError`. Semantics: Flink docs, "SQL Reference", and
where they are silent, Calcite's validator, which Flink uses.
"""
