"""Options of logging; Flink leaves these to Log4j's own files."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.known_options import known

FORMAT = known(
    ConfigOptions.key("millrace.logging.format")
    .string_type()
    .default_value("text")
    .one_of("text", "json"),
    "Format of the log: lines for people, or one JSON object per line.",
)
LEVEL = known(
    ConfigOptions.key("millrace.logging.level").string_type().no_default_value(),
    "Log level of functions in workers, for example `DEBUG` or `WARNING`. Unset: `INFO` if "
    "the log goes to a file or to another machine, `WARNING` on a terminal.",
)
LEVELS = known(
    ConfigOptions.key("millrace.logging.levels").map_type().default_value({}),
    "Levels of individual loggers, in the driver and in workers: "
    "`shop.prices:DEBUG,urllib3:ERROR`.",
)
