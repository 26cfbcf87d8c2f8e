"""Options of the job server itself; Flink docs, "Configuration"."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.options import known

JOB_STORE_CAPACITY = known(
    ConfigOptions.key("jobstore.max-capacity").int_type().default_value(1_000).at_least(1),
    "How many jobs that have ended a job server remembers. Of more, those that ended first are "
    "forgotten with their processes and triggers; their directories and savepoints stay.",
)
