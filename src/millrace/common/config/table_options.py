"""Options of SQL and the Table API (Flink docs, "Configuration" of the Table API)."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.known_options import known
from millrace.common.time.amounts import Duration

LOCAL_TIME_ZONE = known(
    ConfigOptions.key("table.local-time-zone").string_type().default_value("UTC"),
    "Time zone of the session, in which a TIMESTAMP_LTZ is shown and converted to a date.",
)
STATE_TTL = known(
    ConfigOptions.key("table.exec.state.ttl")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "Time for which unused state of SQL operators is kept; 0: forever.",
)
SOURCE_IDLE_TIMEOUT = known(
    ConfigOptions.key("table.exec.source.idle-timeout")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "Time without records after which a split of a table no longer holds back watermarks; "
    "0: never.",
)
CDC_EVENTS_DUPLICATE = known(
    ConfigOptions.key("table.exec.source.cdc-events-duplicate").boolean_type().default_value(False),
    "Whether sources of changes may emit a change more than once. Tables with a primary key "
    "are then normalised by it.",
)
UPSERT_MATERIALIZE = known(
    ConfigOptions.key("table.exec.sink.upsert-materialize")
    .string_type()
    .default_value("AUTO")
    .one_of("AUTO", "FORCE", "NONE"),
    "Whether the rows for a table with a primary key are kept to find the last row of each "
    "key. AUTO: if the query's rows are not unique by this key, or may arrive out of order.",
)
WRITE_AHEAD = known(
    ConfigOptions.key("table.exec.sink.write-ahead")
    .string_type()
    .default_value("AUTO")
    .one_of("AUTO", "FORCE", "NONE"),
    "Whether a table that is written by key and at least once gets its rows only when their "
    "checkpoint is complete. AUTO: if rows of a lost epoch could otherwise stay in the "
    "table.",
)
NOT_NULL_ENFORCER = known(
    ConfigOptions.key("table.exec.sink.not-null-enforcer")
    .string_type()
    .default_value("ERROR")
    .one_of("ERROR", "DROP"),
    "Treatment of a row with NULL in a NOT NULL column of the target table: ERROR fails the "
    "job, DROP leaves the row out.",
)
ROWTIME_INSERTER = known(
    ConfigOptions.key("table.exec.sink.rowtime-inserter")
    .string_type()
    .default_value("ENABLED")
    .one_of("ENABLED", "DISABLED"),
    "Whether the rowtime attribute of a query that becomes a stream (`to_data_stream`) is "
    "the event time of the records. A query with several such columns needs DISABLED.",
)
ASYNC_SCALAR_CAPACITY = known(
    ConfigOptions.key("table.exec.async-scalar.max-concurrent-operations")
    .int_type()
    .default_value(10)
    .at_least(1),
    "Maximum number of concurrent calls of a user's asynchronous function in a task.",
)
ASYNC_SCALAR_TIMEOUT = known(
    ConfigOptions.key("table.exec.async-scalar.timeout")
    .duration_type()
    .default_value(Duration.of_minutes(3))
    .at_least(1),
    "Time limit of a call of an asynchronous function, including its retries.",
)
ASYNC_SCALAR_ATTEMPTS = known(
    ConfigOptions.key("table.exec.async-scalar.max-attempts")
    .int_type()
    .default_value(3)
    .at_least(1),
    "Maximum number of calls of an asynchronous function for a row, if calls raise errors.",
)
ASYNC_SCALAR_DELAY = known(
    ConfigOptions.key("table.exec.async-scalar.retry-delay")
    .duration_type()
    .default_value(Duration.of_millis(100))
    .at_least(0),
    "Pause before a repeated call.",
)
REUSE_SUB_PLAN = known(
    ConfigOptions.key("table.optimizer.reuse-sub-plan-enabled").boolean_type().default_value(True),
    "Whether equal parts of the queries of a job run once.",
)
REUSE_SOURCE = known(
    ConfigOptions.key("table.optimizer.reuse-source-enabled").boolean_type().default_value(True),
    "Whether a table that a job reads several times in the same way is read only once; "
    "requires table.optimizer.reuse-sub-plan-enabled.",
)
FORCE_RECOMPILE = known(
    ConfigOptions.key("table.plan.force-recompile").boolean_type().default_value(False),
    "Whether COMPILE PLAN replaces a plan that its file already contains.",
)
MODEL_CHANGE = known(
    ConfigOptions.key("table.ml.model-change")
    .string_type()
    .default_value("accept")
    .one_of("accept", "fail"),
    "Behaviour of a job that continues from a checkpoint or savepoint with another version "
    "of a model of ML_PREDICT. accept: the job logs both versions and continues; fail: the "
    "job fails.",
)
LEGACY_CAST = known(
    ConfigOptions.key("table.exec.legacy-cast-behaviour")
    .string_type()
    .default_value("DISABLED")
    .one_of("ENABLED", "DISABLED"),
    "ENABLED: a CAST that fails returns NULL, as TRY_CAST does.",
)
SQL_DIALECT = known(
    ConfigOptions.key("table.sql-dialect").string_type().default_value("default").one_of("default"),
    "The grammar of statements; only Flink's is supported.",
)
TYPE_LENGTH_ENFORCER = known(
    ConfigOptions.key("table.exec.sink.type-length-enforcer")
    .string_type()
    .default_value("IGNORE")
    .one_of("IGNORE", "TRIM_PAD", "ERROR"),
    "Treatment of texts and bytes whose length does not fit their column in the target "
    "table. IGNORE writes them unchanged, TRIM_PAD truncates them and pads texts of CHAR "
    "with spaces, ERROR fails the job.",
)
NESTED_CONSTRAINT_ENFORCER = known(
    ConfigOptions.key("table.exec.sink.nested-constraint-enforcer")
    .string_type()
    .default_value("IGNORE")
    .one_of("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
    "Whether the NULL and length constraints of a column's type also apply to the fields of "
    "rows, and to elements of arrays and maps (only with "
    "table.exec.sink.type-length-enforcer IGNORE or ERROR).",
)
BUILTIN_CATALOG = known(
    ConfigOptions.key("table.builtin-catalog-name").string_type().default_value("default_catalog"),
    "Name of the initial catalog.",
)
BUILTIN_DATABASE = known(
    ConfigOptions.key("table.builtin-database-name")
    .string_type()
    .default_value("default_database"),
    "Name of the initial database.",
)
DML_SYNC = known(
    ConfigOptions.key("table.dml-sync").boolean_type().default_value(False),
    "Whether an INSERT returns when its job has ended, rather than when the job has started.",
)
