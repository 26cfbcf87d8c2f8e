"""Methods of `millrace.table.expression.Expression`, one module per kind of function.

Flink: ``BaseExpressions``. Each makes the syntax tree that the SQL parser makes of the same call,
so that both have one meaning.
"""
