"""Clicks of a web shop: visits, the best pages of each hour, profiles that can be queried.

``millrace run analytics.py`` watches ``inbox`` in the current directory and writes to ``results``.
``analytics_2.py`` is the next version; ``ask.py`` asks a running job.
"""

from __future__ import annotations

import sys
from pathlib import Path

from visits import (
    GAP,
    LATENESS,
    Click,
    Count,
    Pages,
    Profiles,
    Record,
    TopPages,
    Views,
    ViewsOfPage,
    Visit,
)

from millrace.common import Configuration, Duration, OutputTag, Time, Types, WatermarkStrategy
from millrace.connectors import BucketAssigner, FileSink, FileSource, RollingPolicy
from millrace.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from millrace.formats import JsonLinesEncoder, JsonLinesFormat

LATE: OutputTag[Click] = OutputTag("late")
SETTINGS = Configuration({"rest.enabled": "true"})


def read_clicks(env: StreamExecutionEnvironment, base: Path) -> KeyedStream[Click, str]:
    """The clicks of each user."""
    inbox = base / "inbox"
    inbox.mkdir(parents=True, exist_ok=True)
    source = (
        FileSource.for_record_stream_format(JsonLinesFormat(), inbox)
        .monitor_continuously(Duration.of_millis(200))
        .build()
    )
    strategy: WatermarkStrategy[Record] = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_minutes(2)
    )
    event_time = strategy.with_timestamp_assigner(lambda click, _: click["time"])
    # a subtask that has read all its files must not hold back the others
    event_time = event_time.with_idleness(Duration.of_seconds(1))
    lines = env.from_source(source, event_time, "clicks").uid("clicks")
    clicks = lines.map(lambda click: Click(**click), Types.of(Click)).uid("parse")
    return clicks.key_by(lambda click: click.user, key_type=Types.STRING())


def visits(clicks: KeyedStream[Click, str]) -> DataStream[Record]:
    """A record per visit, and another when late clicks change it; clicks that are too late are in
    the side output `LATE`."""
    return (
        clicks.window(EventTimeSessionWindows.with_gap(GAP))
        .allowed_lateness(LATENESS)
        .side_output_late_data(LATE)
        .aggregate(Pages(), Visit())
        .uid("visits")
    )


def top_pages(clicks: DataStream[Click], size: int) -> DataStream[Record]:
    """The pages that were seen most, hour by hour."""
    views = (
        clicks.key_by(lambda click: click.page, key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .allowed_lateness(LATENESS)
        .aggregate(Count(), ViewsOfPage(), output_type=Types.of(Views))
        .uid("views")
    )
    hours = views.key_by(lambda view: view.hour, key_type=Types.LONG())
    return hours.process(TopPages(size)).uid("top pages")


def write(records: DataStream[Record], directory: Path) -> None:
    """Write JSON lines, exactly once, and visible at every checkpoint."""
    sink = (
        FileSink.for_row_format(directory, JsonLinesEncoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    records.sink_to(sink).uid(f"{directory.name} sink")


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment(SETTINGS)
    clicks = read_clicks(env, base)
    found = visits(clicks)
    write(found, base / "results/visits")
    write(found.get_side_output(LATE).map(Click._asdict), base / "results/late")
    write(top_pages(clicks, size=3), base / "results/top")
    write(clicks.process(Profiles()).uid("profiles"), base / "results/users")
    env.execute("analytics")


if __name__ == "__main__":
    main()
