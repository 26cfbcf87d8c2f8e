"""Feeds of a social network: each post is written to the feeds of all who follow its author.

``millrace run feed.py`` watches ``inbox`` in the current directory and writes to ``results``;
``read_feed.py`` asks a running job for feeds.
"""

from __future__ import annotations

import sys
from pathlib import Path

from feeds import SUSPENDED, Delivery, FanOut, Feeds, Record, spread

from millrace.common import Configuration, Duration, Types, WatermarkStrategy
from millrace.connectors import BucketAssigner, FileSink, FileSource, RollingPolicy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.formats import JsonLinesEncoder, JsonLinesFormat

SETTINGS = Configuration({"rest.enabled": "true"})
BUCKET = Types.TUPLE([Types.STRING(), Types.INT()])


def read_events(env: StreamExecutionEnvironment, inbox: Path) -> DataStream[Record]:
    """What people do. A file is read in order; a topic of Kafka would be divided by author."""
    inbox.mkdir(parents=True, exist_ok=True)
    source = (
        FileSource.for_record_stream_format(JsonLinesFormat(), inbox)
        .monitor_continuously(Duration.of_millis(200))
        .build()
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "events").uid("events")


def deliveries(events: DataStream[Record]) -> DataStream[Delivery]:
    """A record for each feed to which a post goes."""
    # what is done by and to an author stays in its order on all ways
    by_author = events.key_by(lambda event: event["author"], key_type=Types.STRING())
    parts = by_author.flat_map(spread, Types.TUPLE([BUCKET, Types.PICKLED_BYTE_ARRAY()]))
    by_bucket = parts.uid("parts").key_by(lambda part: part[0], key_type=BUCKET)
    return by_bucket.process(FanOut(), Types.of(Delivery)).uid("fan-out")


def new_posts(events: DataStream[Record]) -> DataStream[Record]:
    """What users are told; the feeds are kept in state."""
    suspended = events.filter(lambda event: event["kind"] == "suspend").broadcast(SUSPENDED)
    by_user = deliveries(events).key_by(lambda delivery: delivery.user, key_type=Types.STRING())
    return by_user.connect(suspended).process(Feeds()).uid("feeds")


def build(env: StreamExecutionEnvironment, base: Path) -> None:
    """The whole job."""
    sink = (
        FileSink.for_row_format(base / "results", JsonLinesEncoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    new_posts(read_events(env, base / "inbox")).sink_to(sink).uid("results")


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment(SETTINGS)
    build(env, base)
    env.execute("feed")


if __name__ == "__main__":
    main()
