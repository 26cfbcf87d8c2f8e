"""How many JSON records a second the Kafka source reads into columns, on two cores with the broker
beside it."""

from __future__ import annotations

from bar import Data, Row, Section
from job_process import MeasurementError, run_ours
from kafka_peer_runs import flink_reading
from kafka_topics import RECORD_BYTES, broker, create, fill

TITLE = "Kafka source: JSON into columns"
BAR = 1_000_000
FLINK_TIMES = 5
RECORDS = 4_000_000
_PARTITIONS = 2


def measure(quick: bool) -> Data:
    records = RECORDS // 10 if quick else RECORDS
    with broker() as servers:
        create(servers, "orders", _PARTITIONS)
        fill(servers, "orders", _PARTITIONS, records)
        data = run_ours("kafka_reading.py", servers, "orders")
        data["rows"] = run_ours("kafka_reading.py", servers, "orders", "--rows")
        data["flink"], data["skipped"] = [], None
        try:
            for mode in ("thread", "process", "jvm"):
                data["flink"].append(flink_reading(servers, "orders", mode, records // 4))
        except MeasurementError as error:
            data["skipped"] = str(error)
        return data


def section(data: Data) -> Section:
    rate = data["records"] / data["seconds"]
    row = Row(
        f"Kafka source, {RECORD_BYTES}-byte JSON into columns",
        f"{BAR:,} records/s",
        f"{rate:,.0f} records/s",
        rate >= BAR,
    )
    rows = [row, *_against_flink(data, rate)]
    used = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in data["cpu"].items())
    text = (
        f"{data['records']:,} records of two partitions in {data['seconds']:.1f} s and "
        f"{data['epochs']} epochs, seven fields, declared with `JsonRowDeserializationSchema`; the "
        f"broker runs on the same two cores. Processor time of the job: {used}."
    )
    return Section(rows, [text, _flink_text(data)])


def _against_flink(data: Data, rate: float) -> list[Row]:
    """Ours beside the faster of PyFlink's two modes; both hand each record to Python."""
    rates = [peer["rate"] for peer in data["flink"] if peer["mode"] != "jvm" and peer["rate"]]
    if not rates:
        return []
    ratio = rate / max(rates)
    wanted = f"{FLINK_TIMES} times"
    return [Row("Kafka source beside PyFlink's", wanted, f"{ratio:.1f}", ratio >= FLINK_TIMES)]


def _flink_text(data: Data) -> str:
    if data["skipped"] is not None:
        return f"Not compared with PyFlink: {data['skipped']}."
    row_rate = data["rows"]["records"] / data["rows"]["seconds"]
    rates = {
        peer["mode"]: "not measurable" if peer["rate"] is None else f"{peer['rate']:,.0f}"
        for peer in data["flink"]
    }
    return (
        "PyFlink's Kafka source on the same broker, JSON into rows that a Python filter drops: "
        f"{rates['thread']} records/s in thread mode, {rates['process']} in process mode; "
        f"ours with such a filter, on rows rather than columns: {row_rate:,.0f}. "
        f"Without any Python, in the JVM alone, Flink reads {rates['jvm']}."
    )
