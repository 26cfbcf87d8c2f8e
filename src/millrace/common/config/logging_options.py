"""Options of logging; Flink leaves these to Log4j's own files."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.options import known

FORMAT = known(
    ConfigOptions.key("millrace.logging.format")
    .string_type()
    .default_value("text")
    .one_of("text", "json"),
    "How the log is written: lines for people, or one JSON object a line.",
)
LEVEL = known(
    ConfigOptions.key("millrace.logging.level").string_type().no_default_value(),
    "What functions log in workers, `DEBUG` or `WARNING` for example. Unset: `INFO` where it goes "
    "to a file or another machine's log, `WARNING` on a terminal.",
)
LEVELS = known(
    ConfigOptions.key("millrace.logging.levels").map_type().default_value({}),
    "Levels of single loggers, in the driver and in workers: `shop.prices:DEBUG,urllib3:ERROR`.",
)
