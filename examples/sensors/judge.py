"""Compares the alerts with the labels: which faults were found, and which alerts are right."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from machines import Fault


@dataclass(frozen=True)
class Alert:
    """A time in which a machine was found to be unusual."""

    machine: str
    kind: str
    since: datetime
    until: datetime

    def means(self, fault: Fault) -> bool:
        """Whether the alert is about this fault."""
        return self.machine == fault.machine and self.since < fault.end and fault.begin < self.until


@dataclass(frozen=True)
class Verdict:
    """The faults that no alert is about, and the alerts that are about no fault."""

    faults: Sequence[Fault]
    alerts: Sequence[Alert]
    missed: Sequence[Fault]
    wrong: Sequence[Alert]

    @property
    def recall(self) -> float:
        """Share of the faults that were found."""
        return 1 - len(self.missed) / len(self.faults)

    @property
    def precision(self) -> float:
        """Share of the alerts that are right; 1 if there are none."""
        return 1 - len(self.wrong) / len(self.alerts) if self.alerts else 1.0

    def text(self) -> str:
        """The verdict for people."""
        lines = [f"{'':8}{'faults':>8}{'found':>8}"]
        for kind in sorted({fault.kind for fault in self.faults}):
            of_kind = [fault for fault in self.faults if fault.kind == kind]
            found = [fault for fault in of_kind if fault not in self.missed]
            lines.append(f"{kind:8}{len(of_kind):8}{len(found):8}")
        right = len(self.alerts) - len(self.wrong)
        lines.append(f"recall {self.recall:.2f}, precision {self.precision:.2f}")
        lines.append(f"{right} of {len(self.alerts)} alerts are about a fault")
        return "\n".join(lines)


def judged(faults: Sequence[Fault], alerts: Sequence[Alert]) -> Verdict:
    """Compare alerts with faults."""
    missed = [fault for fault in faults if not any(alert.means(fault) for alert in alerts)]
    wrong = [alert for alert in alerts if not any(alert.means(fault) for fault in faults)]
    return Verdict(faults, alerts, missed, wrong)


def read_faults(labels: Path) -> list[Fault]:
    """The labels."""
    with labels.open(newline="", encoding="utf-8") as file:
        return [
            Fault(machine, kind, datetime.fromisoformat(begin), datetime.fromisoformat(end))
            for machine, kind, begin, end in csv.reader(file)
        ]


def read_alerts(directory: Path) -> list[Alert]:
    """The alerts in the files of a job."""
    lines = [
        json.loads(line)
        for part in sorted(directory.rglob("part-*"))
        for line in part.read_text("utf-8").splitlines()
    ]
    return [
        Alert(
            line["machine"], line["kind"],
            datetime.fromisoformat(line["since"]), datetime.fromisoformat(line["until"]),
        )
        for line in lines
    ]  # fmt: skip


def main() -> None:
    """Print the verdict."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    print(judged(read_faults(base / "data/labels.csv"), read_alerts(base / "alerts")).text())


if __name__ == "__main__":
    main()
