"""Text, CSV and JSON lines: the formats' readers and plain Python, in turn in one process.

    python reading.py LINES ROUNDS

Prints one JSON line: for each kind of file, CPU seconds of each run of either.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millrace.common import Types
from millrace.formats import CsvReaderFormat, CsvSchema, FileRange, JsonLinesFormat, StreamFormat

BATCH = 4096
"""Records that a source operator asks for at a time."""
ORDER = {"id": 0, "customer": "", "city": "Zürich", "amount": 0.0, "paid": True, "items": [1, 2, 3]}


def order(number: int) -> dict[str, Any]:
    amount = round(number * 0.37, 2)
    return {**ORDER, "id": number, "customer": f"customer-{number % 997}", "amount": amount}


def write(directory: Path, lines: int) -> None:
    with (
        (directory / "text").open("w") as text,
        (directory / "csv").open("w") as separated,
        (directory / "json").open("w") as objects,
    ):
        for number in range(lines):
            record = order(number)
            text.write(f"2026-03-01 12:00:00 INFO order {number} of {record['customer']} paid\n")
            fields = number, record["customer"], record["city"], record["amount"], "true"
            separated.write(",".join(map(str, fields)) + "\n")
            objects.write(json.dumps(record, ensure_ascii=False) + "\n")


SCHEMA = (
    CsvSchema.builder()
    .add_number_column("id")
    .add_string_column("customer")
    .add_string_column("city")
    .add_number_column("amount", Types.DOUBLE())
    .add_boolean_column("paid")
    .build()
)
FORMATS: dict[str, Any] = {
    "text": StreamFormat.text_line_format(),
    "csv": CsvReaderFormat.for_schema(SCHEMA, record_type=dict),
    "columns": CsvReaderFormat.for_schema(SCHEMA, columnar=True),
    "json": JsonLinesFormat(),
}


def read(kind: str, path: Path) -> int:
    reader = FORMATS[kind].open(str(path), FileRange(0, 1 << 62), None)
    count = 0
    while not reader.finished():
        count += len(reader.read(BATCH))
    reader.close()
    return count


def plain_text(path: Path) -> int:
    count = 0
    with path.open() as file:
        for line in file:
            line.rstrip("\n")
            count += 1
    return count


def plain_csv(path: Path) -> int:
    """With the types that the schema gives."""
    count = 0
    names = SCHEMA.names
    with path.open(newline="") as file:
        for id, customer, city, amount, paid in csv.reader(file):
            dict(zip(names, (int(id), customer, city, float(amount), paid == "true"), strict=True))
            count += 1
    return count


def plain_json(path: Path) -> int:
    count = 0
    with path.open() as file:
        for line in file:
            json.loads(line)
            count += 1
    return count


PLAIN: dict[str, Callable[[Path], int]] = {
    "text": plain_text,
    "csv": plain_csv,
    "columns": plain_csv,
    "json": plain_json,
}


def seconds(work: Callable[[], int], lines: int) -> float:
    start = time.process_time()
    assert work() == lines
    return time.process_time() - start


def main() -> None:
    lines, rounds, directory = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[-1])
    directory.mkdir(parents=True, exist_ok=True)
    write(directory, lines)
    found: dict[str, list[list[float]]] = {kind: [] for kind in FORMATS}
    for _ in range(rounds):
        for kind, times in found.items():
            path = directory / ("csv" if kind == "columns" else kind)
            ours = seconds(lambda kind=kind, path=path: read(kind, path), lines)  # type: ignore[misc]
            plain = seconds(lambda kind=kind, path=path: PLAIN[kind](path), lines)  # type: ignore[misc]
            times.append([ours, plain])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
