"""Parser from SQL text to syntax trees (``pip install 'millrace[sql]'``).

`millrace.sql.parser` reads statements, `millrace.sql.statements` has a class for each kind of them,
and `millrace.sql.dialect` tells of the trees that queries and expressions become.
"""

from millrace.common.installation import missing_package

try:
    import sqlglot  # noqa: F401
except ImportError as error:
    raise ImportError(missing_package("SQL needs", "sqlglot", "sql"), name="sqlglot") from error
