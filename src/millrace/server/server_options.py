"""Options of the job server itself; Flink docs, "Configuration"."""

from __future__ import annotations

from millrace.common.config.config_file import ConfigFile
from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.configuration import Configuration
from millrace.common.config.known_options import free_prefix, known
from millrace.common.config.options import REST_BIND_ADDRESS, REST_PORT
from millrace.common.time.amounts import Duration

WEBHOOK_PREFIX = free_prefix("millrace.alerts.webhook.", only_in_file=True)
"""Prefix of the settings of one webhook: ``millrace.alerts.webhook.<name>.<parameter>``."""
_PREFIXES = ("high-availability.", "jobstore.", "millrace.server.", "web.", WEBHOOK_PREFIX)
_OF_SERVER = frozenset({REST_BIND_ADDRESS.key, REST_PORT.key})
"""Options of jobs that mean the server's own address in ``config.yaml``, as in Flink. Jobs of one
machine cannot share a port."""

JOB_STORE_CAPACITY = known(
    ConfigOptions.key("jobstore.max-capacity").int_type().default_value(1_000).at_least(1),
    "Maximum number of ended jobs that a job server remembers. Above it, the jobs that "
    "ended first are forgotten with their processes and triggers; their directories and "
    "savepoints stay.",
)
JOB_STORE_EXPIRATION = known(
    ConfigOptions.key("jobstore.expiration-time").duration_type().no_default_value().at_least(1),
    "Time for which a job server remembers an ended job. Unset: until "
    "`jobstore.max-capacity` is reached.",
)
WEB_SUBMIT = known(
    ConfigOptions.key("web.submit.enable").boolean_type().default_value(False),
    "Whether the job server takes job files over HTTP (`millrace server --allow-uploads`).",
)
SERVER_DIRECTORY = known(
    ConfigOptions.key("millrace.server.directory").string_type().no_default_value(),
    "Directory in which the job server keeps jobs, tokens and its log (`millrace server "
    "--directory`).",
)
SERVER_REGISTRY = known(
    ConfigOptions.key("millrace.server.registry").string_type().no_default_value(),
    "URL of the job server's registry (`millrace server --registry`). A URL with a password "
    "should be in the variable `MILLRACE_REGISTRY` instead, because readers of the file "
    "would see it.",
)
SERVER_PROGRAMS = known(
    ConfigOptions.key("millrace.server.programs").string_type().no_default_value(),
    "Directory of job files that clients may run by their paths (`millrace server --programs`).",
)
SERVER_ADVERTISED = known(
    ConfigOptions.key("millrace.server.advertised-address").string_type().no_default_value(),
    "URL by which clients and other servers reach the job server (`millrace server "
    "--advertise`). Alerts link to it.",
)
SERVER_TOKEN_FILE = known(
    ConfigOptions.key("millrace.server.token-file").string_type().no_default_value(),
    "File with the operate token (`millrace server --token-file`).",
)
SERVER_READ_TOKEN_FILE = known(
    ConfigOptions.key("millrace.server.read-token-file").string_type().no_default_value(),
    "File with the read token (`millrace server --read-token-file`).",
)
SERVER_TLS_CERTIFICATE = known(
    ConfigOptions.key("millrace.server.tls-certificate").string_type().no_default_value(),
    "The job server's certificate, a file in PEM (`millrace server --tls-cert`).",
)
SERVER_TLS_KEY = known(
    ConfigOptions.key("millrace.server.tls-key").string_type().no_default_value(),
    "The key of the job server's certificate, a file in PEM (`millrace server --tls-key`).",
)
SERVER_HISTORY = known(
    ConfigOptions.key("millrace.server.history")
    .duration_type()
    .default_value(Duration.of_millis(3_600_000))
    .at_least(1_000),
    "Time span of the web UI's charts. The job server keeps one point per second and job in "
    "memory, 64 bytes each.",
)

ALERT_FAILED = known(
    ConfigOptions.key("millrace.alerts.failed").boolean_type().default_value(True),
    "Whether the job server sends an alert when the job fails.",
)
ALERT_RESTARTS = known(
    ConfigOptions.key("millrace.alerts.restarts").int_type().default_value(3).at_least(0),
    "Number of restarts within `millrace.alerts.restarts-window` above which an alert is sent.",
)
ALERT_RESTARTS_WINDOW = known(
    ConfigOptions.key("millrace.alerts.restarts-window")
    .duration_type()
    .default_value(Duration.of_millis(600_000))
    .at_least(1_000),
    "Time in which restarts are counted for `millrace.alerts.restarts`.",
)
ALERT_LAG = known(
    ConfigOptions.key("millrace.alerts.lag").duration_type().no_default_value().at_least(1),
    "Lag of the job's watermark behind the clock above which an alert is sent. Unset: never.",
)
ALERT_CHECKPOINT_AGE = known(
    ConfigOptions.key("millrace.alerts.checkpoint-age")
    .duration_type()
    .no_default_value()
    .at_least(1),
    "Age of the job's newest completed checkpoint above which an alert is sent. Unset: never.",
)


def server_settings_in(file: ConfigFile) -> Configuration:
    """The settings of the job server in ``config.yaml``."""
    return file.settings(is_of_server)


def job_settings_in(file: ConfigFile) -> Configuration:
    """The defaults of jobs in ``config.yaml``."""
    return file.settings(lambda key: not is_of_server(key))


def is_of_server(key: str) -> bool:
    """Whether a key in ``config.yaml`` is for the job server, not for its jobs.

    Example:
        >>> is_of_server("rest.port"), is_of_server("parallelism.default")
        (True, False)
    """
    return key in _OF_SERVER or key.startswith(_PREFIXES)
