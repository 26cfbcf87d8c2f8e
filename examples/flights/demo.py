"""A year of departures from New York as an event stream: ``millrace run examples/flights/demo.py``.

Replays 336,776 flights in the order of their schedule (see `events` for what order, event time and
disorder mean here), watches airports (`delays`) and aircraft (`aircraft`), writes what it finds to
Parquet and CSV files, exactly once, and at the end prints a report of what is in these files.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from aircraft import still_away
from delays import LATE, hourly_delays
from events import CANCELLED, Departures, Flight, event_time, parse_flight
from replay import Paced, write_replay
from report import read_results, report

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.connectors import BucketAssigner, FileSink, FileSource, OutputFileConfig
from millrace.connectors.file_sink import BulkFormatBuilder
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import CsvEncoder, CsvReaderFormat, ParquetBulkWriters

# watermarks travel between buffers: big ones would hide how late data can be
SMALL_BUFFERS = Configuration({"millrace.buffer.records": 16})

DELAYS = {
    "origin": Types.STRING(),
    "hour": Types.LONG(),
    "departures": Types.LONG(),
    "total_delay": Types.LONG(),
    "average_delay": Types.DOUBLE(),
    "worst_carrier": Types.STRING(),
    "worst_delay": Types.DOUBLE(),
}
ALERTS = ("tailnum", "departed", "origin", "dest", "carrier", "flight")


def build(env: StreamExecutionEnvironment, replay: Path, results: Path, rate: float | None) -> None:
    """Build the job: from the file ``replay`` to files below ``results``, at most ``rate`` flights
    per second."""
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_header(), replay).build()
    departures = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "replay")
        .set_parallelism(1)
        .map(Paced(rate))
        .set_parallelism(1)
        .map(parse_flight)
        .set_parallelism(1)
        .assign_timestamps_and_watermarks(event_time())
        .set_parallelism(1)
        .process(Departures())
        .set_parallelism(1)
        .name("departures")
    )
    delays = hourly_delays(departures)
    delays.sink_to(parquet_files(results / "delays")).name("delays")
    still_away(departures).sink_to(csv_files(results / "alerts", *ALERTS)).name("alerts")
    late = delays.get_side_output(LATE)
    late.sink_to(csv_files(results / "late", *Flight._fields)).name("late")
    cancelled = departures.get_side_output(CANCELLED)
    cancelled.sink_to(csv_files(results / "cancelled", *Flight._fields)).name("cancelled")


def parquet_files(directory: Path) -> FileSink:
    """A sink of Parquet files, exactly once."""
    columns = Types.ROW_NAMED(list(DELAYS), list(DELAYS.values()))
    factory = ParquetBulkWriters.for_row_type(columns)
    return named(FileSink.for_bulk_format(directory, factory), ".parquet")


def csv_files(directory: Path, *columns: str) -> FileSink:
    """A sink of CSV files, exactly once."""
    encoder = CsvEncoder.for_columns(*columns)
    return named(FileSink.for_row_format(directory, encoder), ".csv")


def named(builder: BulkFormatBuilder, suffix: str) -> FileSink:
    """The sink, with all its files in one directory."""
    names = OutputFileConfig.builder().with_part_suffix(suffix).build()
    buckets = BucketAssigner.base_path_bucket_assigner()
    return builder.with_bucket_assigner(buckets).with_output_file_config(names).build()


def main() -> None:
    """Run the job and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("flights"), help="a new directory")
    parser.add_argument("--rate", type=float, help="flights per second at most")
    options = parser.parse_args()
    output = options.output.resolve()
    results = output / "results"
    env = StreamExecutionEnvironment.get_execution_environment(SMALL_BUFFERS)
    build(env, write_replay(output / "replay.csv"), results, options.rate)
    env.execute("New York flights")
    print(report(read_results(results)))
    print(f"The files are in {os.path.relpath(results)}")


if __name__ == "__main__":
    main()
