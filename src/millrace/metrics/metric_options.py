"""Options of metrics, with Flink's keys and defaults (Flink docs, "Metric Reporters")."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.config.known_options import free_prefix, known

__all__ = ["REPORTER_PREFIX", "SCOPE_FORMATS"]

REPORTER_PREFIX = free_prefix("metrics.reporter.")
"""Prefix of the options of one reporter: ``metrics.reporter.<name>.<parameter>``."""

REPORTERS = known(
    ConfigOptions.key("metrics.reporters").list_type().default_value([]),
    "Names of the reporters to start, for example `prom,otel`. The options "
    "`metrics.reporter.<name>.<parameter>` describe each reporter. Empty: all described "
    "reporters.",
)
SCOPE_DELIMITER = known(
    ConfigOptions.key("metrics.scope.delimiter").string_type().default_value("."),
    "Separator between the parts of a metric's full name.",
)


def _scope(key: str, default: str, whose: str) -> ConfigOption[str]:
    return known(
        ConfigOptions.key(f"metrics.scope.{key}").string_type().default_value(default),
        f"Beginning of the full names of metrics of {whose}.",
    )


SCOPE_FORMATS = {
    "jobmanager": _scope("jm", "<host>.jobmanager", "the driver"),
    "jobmanager.job": _scope("jm-job", "<host>.jobmanager.<job_name>", "a job"),
    "jobmanager.job.operator": _scope(
        "jm-operator",
        "<host>.jobmanager.<job_name>.<operator_name>",
        "an operator's part in the driver: an enumerator, a committer",
    ),
    "taskmanager.job": _scope(
        "tm-job", "<host>.taskmanager.<tm_id>.<job_name>", "a job in a worker: latencies"
    ),
    "taskmanager.job.task": _scope(
        "task",
        "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
        "a subtask",
    ),
    "taskmanager.job.task.operator": _scope(
        "operator",
        "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
        "an operator in a subtask",
    ),
}
"""Per logical scope, the option with its format."""
