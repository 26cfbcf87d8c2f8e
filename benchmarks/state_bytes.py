"""What checkpoints of a large state write: bytes, files, and how evenly."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from bar import Data, Row, Section, summary, table
from job_process import MeasurementError, run_ours

TITLE = "Bytes written for state"
AMPLIFICATION, FILES, WORST = 8.0, 500, 3.0
UPDATES = 1000
VALUE_BYTES = {"small": 8, "large": 100}
"""A number, and about as much as a record of a few fields."""
SHARES = 10


def measure(quick: bool) -> Data:
    keys, epochs = (200_000, 300) if quick else (5_000_000, 5_000)
    return {name: _run(keys, epochs, size) for name, size in VALUE_BYTES.items()}


def _run(keys: int, epochs: int, value_bytes: int) -> Data:
    data = run_ours(
        "state_bytes.py", "--keys", keys, "--epochs", epochs, "--updates", UPDATES,
        "--value-bytes", value_bytes, timeout=1800,
    )  # fmt: skip
    if not data["restored"]:
        raise MeasurementError("the state that was restored afterwards differs")
    return data


def section(data: Data) -> Section:
    rows = [row for part in data.values() for row in _rows(part)]
    text = (
        f"{UPDATES:,} random keys per epoch, four subtasks, a durable checkpoint after every "
        "epoch; all bytes that the process writes, as the kernel counts them (`/proc/self/io`), "
        "manifests, incremental compaction and packing included, against the encoded keys and "
        "values that changed. "
        "The first load is not part of the epochs. Files are all in the job's directory. "
        "Afterwards the newest checkpoint was restored and compared."
    )
    header = [
        "entry", "load", "all epochs", "times changed, per tenth of the run",
        "epoch and checkpoint", "directory at the end", "restore",
    ]  # fmt: skip
    return Section(rows, [text, table(header, [_line(part) for part in data.values()])])


def _rows(part: Data) -> list[Row]:
    what = f"{part['keys']:,} keys, entries of {_entry_bytes(part):.0f} bytes"
    times = sum(part["written"]) / sum(part["changed"])
    worst = max(part["written"]) / median(part["written"])
    files = max(part["files"])
    return [
        Row(
            f"{what}: bytes written over {len(part['written']):,} epochs",
            f"{AMPLIFICATION:.0f} times those of the changed entries",
            f"{times:.2f} times",
            times <= AMPLIFICATION,
        ),
        Row(f"{what}: most files at any time", f"under {FILES}", f"{files}", files < FILES),
        Row(
            f"{what}: bytes of the worst epoch",
            f"{WORST:.0f} times the median",
            f"{worst:.2f} times",
            worst <= WORST,
        ),
    ]


def _entry_bytes(part: Data) -> float:
    return median(part["changed"]) / part["updates"]


def _line(part: Data) -> list[str]:
    return [
        f"{_entry_bytes(part):.0f} bytes",
        f"{_megabytes(part['load_bytes'])} in {part['load_seconds']:.1f} s",
        _megabytes(sum(part["written"])),
        ", ".join(f"{times:.1f}" for times in _course(part)),
        summary(part["wall_ms"]),
        _megabytes(part["directory_bytes"]),
        f"{part['restore_seconds']:.1f} s",
    ]


def _course(part: Data) -> list[float]:
    """How the amplification went, tenth by tenth."""
    written, changed = part["written"], part["changed"]
    bounds = [len(written) * share // SHARES for share in range(SHARES + 1)]
    return [sum(written[a:b]) / sum(changed[a:b]) for a, b in pairwise(bounds)]


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"
