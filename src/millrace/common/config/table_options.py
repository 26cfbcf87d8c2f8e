"""Options of SQL and the Table API (Flink docs, "Configuration" of the Table API)."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.options import known
from millrace.common.time.amounts import Duration

LOCAL_TIME_ZONE = known(
    ConfigOptions.key("table.local-time-zone").string_type().default_value("UTC"),
    "Zone of the session, in which a TIMESTAMP_LTZ is shown and becomes a date.",
)
STATE_TTL = known(
    ConfigOptions.key("table.exec.state.ttl")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "How long state of SQL operators is kept that nothing has touched; 0: for ever.",
)
SOURCE_IDLE_TIMEOUT = known(
    ConfigOptions.key("table.exec.source.idle-timeout")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "After how long without records a split of a table no longer holds up watermarks; 0: never.",
)
CDC_EVENTS_DUPLICATE = known(
    ConfigOptions.key("table.exec.source.cdc-events-duplicate").boolean_type().default_value(False),
    "Whether sources of changes may tell a change more than once: tables with a primary key are "
    "normalised by it.",
)
UPSERT_MATERIALIZE = known(
    ConfigOptions.key("table.exec.sink.upsert-materialize")
    .string_type()
    .default_value("AUTO")
    .one_of("AUTO", "FORCE", "NONE"),
    "Whether the rows for a table with a primary key are kept to find the last one of each key; "
    "AUTO: where a query's rows are not unique by that key, or may come out of order.",
)
WRITE_AHEAD = known(
    ConfigOptions.key("table.exec.sink.write-ahead")
    .string_type()
    .default_value("AUTO")
    .one_of("AUTO", "FORCE", "NONE"),
    "Whether a table that is written by key and at least once gets its rows when their checkpoint "
    "is complete, rather than at once; AUTO: where rows of a lost epoch could stay otherwise.",
)
NOT_NULL_ENFORCER = known(
    ConfigOptions.key("table.exec.sink.not-null-enforcer")
    .string_type()
    .default_value("ERROR")
    .one_of("ERROR", "DROP"),
    "What happens to a row with NULL for a column that is NOT NULL in the table it is for: ERROR "
    "fails the job, DROP leaves the row out.",
)
ROWTIME_INSERTER = known(
    ConfigOptions.key("table.exec.sink.rowtime-inserter")
    .string_type()
    .default_value("ENABLED")
    .one_of("ENABLED", "DISABLED"),
    "Whether the rowtime attribute of a query that becomes a stream (`to_data_stream`) is the "
    "event time of the records; a query with several such columns needs DISABLED.",
)
ASYNC_SCALAR_CAPACITY = known(
    ConfigOptions.key("table.exec.async-scalar.max-concurrent-operations")
    .int_type()
    .default_value(10)
    .at_least(1),
    "How many calls of an asynchronous function of the user a task makes at a time.",
)
ASYNC_SCALAR_TIMEOUT = known(
    ConfigOptions.key("table.exec.async-scalar.timeout")
    .duration_type()
    .default_value(Duration.of_minutes(3))
    .at_least(1),
    "How long a call of an asynchronous function may take, with its retries.",
)
ASYNC_SCALAR_ATTEMPTS = known(
    ConfigOptions.key("table.exec.async-scalar.max-attempts")
    .int_type()
    .default_value(3)
    .at_least(1),
    "How often an asynchronous function is called for a row that it raises an error for.",
)
ASYNC_SCALAR_DELAY = known(
    ConfigOptions.key("table.exec.async-scalar.retry-delay")
    .duration_type()
    .default_value(Duration.of_millis(100))
    .at_least(0),
    "How long it waits before the next of these calls.",
)
REUSE_SUB_PLAN = known(
    ConfigOptions.key("table.optimizer.reuse-sub-plan-enabled").boolean_type().default_value(True),
    "Whether equal parts of the queries of a job run once.",
)
REUSE_SOURCE = known(
    ConfigOptions.key("table.optimizer.reuse-source-enabled").boolean_type().default_value(True),
    "Whether a table that a job reads several times in the same way is read once; only with "
    "table.optimizer.reuse-sub-plan-enabled.",
)
FORCE_RECOMPILE = known(
    ConfigOptions.key("table.plan.force-recompile").boolean_type().default_value(False),
    "Whether COMPILE PLAN replaces a plan that is in its file already.",
)
MODEL_CHANGE = known(
    ConfigOptions.key("table.ml.model-change")
    .string_type()
    .default_value("accept")
    .one_of("accept", "fail"),
    "What happens when a job goes on from a checkpoint or savepoint with another version of a "
    "model of ML_PREDICT: accept: it says so in its log, and records both; fail: it fails.",
)
LEGACY_CAST = known(
    ConfigOptions.key("table.exec.legacy-cast-behaviour")
    .string_type()
    .default_value("DISABLED")
    .one_of("ENABLED", "DISABLED"),
    "ENABLED: a CAST that fails gives NULL, as TRY_CAST does.",
)
SQL_DIALECT = known(
    ConfigOptions.key("table.sql-dialect").string_type().default_value("default").one_of("default"),
    "The grammar of statements: there is Flink's.",
)
TYPE_LENGTH_ENFORCER = known(
    ConfigOptions.key("table.exec.sink.type-length-enforcer")
    .string_type()
    .default_value("IGNORE")
    .one_of("IGNORE", "TRIM_PAD", "ERROR"),
    "What happens to texts and bytes that are not of the length of their column in the table they "
    "are for: IGNORE writes them as they are, TRIM_PAD cuts them and fills texts of CHAR with "
    "spaces, ERROR fails the job.",
)
NESTED_CONSTRAINT_ENFORCER = known(
    ConfigOptions.key("table.exec.sink.nested-constraint-enforcer")
    .string_type()
    .default_value("IGNORE")
    .one_of("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
    "Whether what a column's type says about NULL and lengths also holds for the fields of rows, "
    "and for elements of arrays and maps (only with table.exec.sink.type-length-enforcer IGNORE or "
    "ERROR).",
)
BUILTIN_CATALOG = known(
    ConfigOptions.key("table.builtin-catalog-name").string_type().default_value("default_catalog"),
    "Name of the catalog that is there from the beginning.",
)
BUILTIN_DATABASE = known(
    ConfigOptions.key("table.builtin-database-name")
    .string_type()
    .default_value("default_database"),
    "Name of the database that is there from the beginning.",
)
DML_SYNC = known(
    ConfigOptions.key("table.dml-sync").boolean_type().default_value(False),
    "Whether an INSERT returns when its job has ended, rather than when it has begun.",
)
