"""Messages and files of Avro, Protobuf and Debezium into columns, beside plain loops of Python in
the same run."""

from __future__ import annotations

from bar import Data, Section, against_plain_loop
from job_process import run_ours

TITLE = "Decoding formats"
RECORDS = 200_000
ROUNDS = 5
BARS = {
    "avro messages": 1.0,
    "avro with a registry": 1.0,
    "avro file": 1.2,
    "protobuf messages": 1.0,
    "debezium messages": 1.5,
    "raw messages": 0.5,
}
"""Most CPU time, as a multiple of the plain loop's."""
PLAIN = {
    "avro messages": "`fastavro.schemaless_reader` of each",
    "avro with a registry": "`fastavro.schemaless_reader` of each",
    "avro file": "`fastavro.reader`",
    "protobuf messages": "`FromString` and a dict of each",
    "debezium messages": "`json.loads` and two dicts of each",
    "raw messages": "`struct.unpack` of each",
}


def measure(quick: bool) -> Data:
    records, rounds = (RECORDS // 10, 2) if quick else (RECORDS, ROUNDS)
    return {"records": records, "times": run_ours("decoding.py", records, rounds)}


def section(data: Data) -> Section:
    rows = [
        against_plain_loop(f"{kind} into columns", PLAIN[kind], times, data["records"], BARS[kind])
        for kind, times in data["times"].items()
    ]
    text = (
        f"{data['records']:,} records of five fields (a number, two texts, a decimal fraction and "
        "a time in ms), in turn in one process without Spark, the fastest of all runs. The loops "
        "make dicts of Python, with times as Python has them; ours make Arrow columns. Debezium's "
        "are updates, so they give two rows each."
    )
    return Section(rows, [text])
