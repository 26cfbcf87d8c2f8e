"""Card fraud: payments and rules arrive in watched directories, alerts go to files.

``millrace run fraud.py`` watches ``inbox``, ``rules/patterns`` and ``rules/limits`` in the current
directory and writes to ``results``. ``fraud_2.py`` is the next version.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from detectors import (
    AHEAD,
    CLOCK_LIMIT,
    LIMITS,
    Alert,
    Clock,
    DailyLimit,
    Payment,
    PaymentFormat,
    rule_alert,
    two_places,
    two_places_alert,
)

from millrace.cep import CEP
from millrace.cep.rules import RejectedRule
from millrace.common import DeadLetter, Duration, ErrorPolicy, OutputTag, Types, WatermarkStrategy
from millrace.connectors import BucketAssigner, FileSink, FileSource, RollingPolicy
from millrace.connectors.file_source import FileSourceBuilder
from millrace.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedStream,
    StreamExecutionEnvironment,
)
from millrace.formats import JsonLinesEncoder, JsonLinesFormat, StreamFormat

T = TypeVar("T")
BROKEN: OutputTag[DeadLetter] = OutputTag("broken lines")
REJECTED: OutputTag[RejectedRule] = OutputTag("rejected rules")
LATE: OutputTag[Payment] = OutputTag("late")
NO_TIME: WatermarkStrategy[Any] = WatermarkStrategy.no_watermarks()


def payments_by_card(env: StreamExecutionEnvironment, base: Path) -> KeyedStream[Payment, str]:
    """The payments that make sense; the others are written to files."""
    read = watched(PaymentFormat(), base / "inbox")
    source = read.set_error_policy(ErrorPolicy.side_output(BROKEN)).build()
    # they come up to five minutes late, and clocks that are ahead must not make the others late
    strategy: WatermarkStrategy[Payment] = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_minutes(5)
    )
    event_time = (
        strategy.with_clock_limit(CLOCK_LIMIT)
        # a subtask that has read all its files must not hold back the others
        .with_idleness(Duration.of_seconds(1))
        .with_timestamp_assigner(lambda payment, _: payment.time)
    )
    received = env.from_source(source, event_time, "payments", Types.of(Payment)).uid("payments")
    write(received.get_side_output(BROKEN).map(described), base / "results/broken")
    payments = received.process(Clock(), Types.of(Payment)).uid("clock")
    write(payments.get_side_output(AHEAD).map(asdict), base / "results/ahead")
    return payments.key_by(lambda payment: payment.card, key_type=Types.STRING())


def found_by_rules(payments: KeyedStream[Payment, str], base: Path) -> DataStream[Alert]:
    """Alerts of the patterns in ``rules/patterns``; late payments are written to files."""
    env = payments.get_execution_environment()
    source = watched(StreamFormat.text_line_format(), base / "rules/patterns").build()
    rules = env.from_source(source, NO_TIME, "patterns").uid("patterns")
    search = CEP.dynamic_pattern(payments, rules).side_output_rejected_rules(REJECTED)
    found = search.side_output_late_data(LATE).select(rule_alert).uid("rules")
    write(
        found.get_side_output(REJECTED).map(lambda r: {"reason": r.reason}),
        base / "results/rejected",
    )
    write(found.get_side_output(LATE).map(asdict), base / "results/late")
    return found


def found_by_limits(
    payments: KeyedStream[Payment, str],
    function: KeyedBroadcastProcessFunction[str, Payment, dict[str, Any], Alert],
    base: Path,
) -> DataStream[Alert]:
    """Alerts of the limits in ``rules/limits``."""
    env = payments.get_execution_environment()
    source = watched(JsonLinesFormat(), base / "rules/limits").build()
    limits = env.from_source(source, NO_TIME, "limits").uid("limits")
    return payments.connect(limits.broadcast(LIMITS)).process(function).uid("daily limit")


def watched(file_format: StreamFormat[T], directory: Path) -> FileSourceBuilder[T]:
    """A source of a directory in which files keep appearing."""
    directory.mkdir(parents=True, exist_ok=True)
    builder = FileSource.for_record_stream_format(file_format, directory)
    return builder.monitor_continuously(Duration.of_millis(200))


def write(records: DataStream[Any], directory: Path) -> None:
    """Write JSON lines, exactly once, and visible at every checkpoint."""
    sink = (
        FileSink.for_row_format(directory, JsonLinesEncoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    records.sink_to(sink).uid(directory.name)


def described(letter: DeadLetter) -> dict[str, Any]:
    """What the people see who repair broken lines."""
    return {
        "file": Path(letter.source).name,
        "line": letter.line,
        "text": letter.raw.decode(errors="replace"),
        "error": letter.error,
    }


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment()
    payments = payments_by_card(env, base)
    places = CEP.pattern(payments, two_places(minutes=10)).select(two_places_alert)
    alerts = found_by_rules(payments, base).union(
        found_by_limits(payments, DailyLimit(), base), places.uid("two places")
    )
    write(alerts, base / "results/alerts")
    env.execute("fraud")


if __name__ == "__main__":
    main()
