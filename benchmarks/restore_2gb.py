"""From kill -9 to the first new output, with two gigabytes of state."""

from __future__ import annotations

from bar import Data, Row, Section, table
from large_state import directories, run_until

TITLE = "Restore"
KEYS = 20_000_000
LIMIT = 20.0
VARIANTS = {
    "from checkpoint files": (),
    "from the database on the host (execution.state-recovery.from-local)": ("--from-local",),
}


def measure(quick: bool) -> Data:
    keys = 400_000 if quick else KEYS
    return {name: _restore(keys, options) for name, options in VARIANTS.items()} | {"keys": keys}


def _restore(keys: int, options: tuple[str, ...]) -> Data:
    with directories() as scratch:
        run_until(scratch, keys, *options, stop_at=keys * 5 // 4)
        again = run_until(scratch, keys, "--resume", *options, stop_at=1)
    return {"seconds": again.reports[0]["since_start"]}


def section(data: Data) -> Section:
    seconds = {name: data[name]["seconds"] for name in VARIANTS}
    best = min(seconds.values())
    row = Row(
        f"restore of {data['keys']:,} keys (about {data['keys'] * 100 / 1e9:.1f} GB) after "
        "kill -9, until the first new output",
        f"under {LIMIT:.0f} s",
        f"{best:.1f} s",
        best < LIMIT,
    )
    text = "State on rocksdb, parallelism 2; the time includes that of Python and the JVM to start."
    lines = [[name, f"{value:.1f} s"] for name, value in seconds.items()]
    return Section([row], [text, table(["how", "first output after"], lines)])
