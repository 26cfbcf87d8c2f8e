"""What the driver's process needs."""

from __future__ import annotations

from millrace.metrics.process_metrics import ProcessMetrics


def test_the_load_is_that_of_this_process_since_the_last_look() -> None:
    process = ProcessMetrics()
    first, second = ({m.name: m.value for m in process.all()} for _ in range(2))
    assert second["Status.Process.CPU.Time"] >= first["Status.Process.CPU.Time"] > 1_000_000
    assert all(seen["Status.Process.CPU.Load"] >= 0 for seen in (first, second))
    assert second["Status.Process.Memory.Resident"] > 1 << 20
    assert second["Status.Process.Threads.Count"] >= 1
