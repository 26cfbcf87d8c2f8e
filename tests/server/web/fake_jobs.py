"""Jobs in the shape of the REST API, for the pages of the web UI: figures of several kinds of jobs.

Nothing runs: the same moment always gives the same figures, so pictures can be made again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

MINUTE = 60_000
HOUR = 60 * MINUTE


RETAINED = 2
"""So many of its checkpoints a job keeps."""


@dataclass(frozen=True)
class FakeOperator:
    """An operator: what it reads from, by the places of other operators in the job."""

    name: str
    inputs: tuple[int, ...] = ()
    rate_in: float = 0
    rate_out: float = 0
    busy: float = 0.1
    ship: str = "HASH"
    pressed: float = 0.0
    skew: float = 1.1
    descriptions: tuple[str, ...] = ()
    """What its operators do, if it is one of a query."""

    @property
    def id(self) -> str:
        return hashlib.md5(self.name.encode(), usedforsecurity=False).hexdigest()


@dataclass
class FakeJob:
    """A job and what has become of it."""

    name: str
    state: str
    operators: Sequence[FakeOperator]
    age: int
    """Since its start, in ms."""
    parallelism: int = 4
    ended_after: int | None = None
    """In ms; None: it runs."""
    exceptions: Sequence[Json] = ()
    notices: Sequence[Json] = ()
    restarts: int = 0
    waits_for: str = ""
    failed_checkpoint: bool = False
    state_bytes: int = 48_000_000
    savepoints: list[str] = field(default_factory=list)
    functions: Sequence[Json] = ()
    """Figures of Stateful Functions."""

    @property
    def id(self) -> str:
        return hashlib.md5(self.name.encode(), usedforsecurity=False).hexdigest()

    @property
    def runs(self) -> bool:
        return self.ended_after is None

    @property
    def rate(self) -> float:
        return sum(operator.rate_out for operator in self.operators if not operator.inputs)


ORDERS = (
    FakeOperator("Source: orders (Kafka)", (), 0, 18_420, 0.31),
    FakeOperator("Source: exchange rates", (), 0, 12.4, 0.02),
    FakeOperator("Parse and check", (0,), 18_420, 18_391, 0.44, "FORWARD"),
    FakeOperator("Convert currencies", (2, 1), 18_403, 18_391, 0.38, "BROADCAST"),
    FakeOperator("Revenue per product, 1 min windows", (3,), 18_391, 642, 0.93),
    FakeOperator("Late orders", (4,), 3.2, 3.2, 0.01, "FORWARD"),
    FakeOperator("Sink: revenue (PostgreSQL)", (4,), 642, 642, 0.17, "FORWARD"),
    FakeOperator("Sink: late orders (files)", (5,), 3.2, 3.2, 0.02, "FORWARD"),
)
REVENUE = (
    FakeOperator(
        "orders[1] -> Calc[2]",
        (),
        0,
        18_420,
        0.22,
        pressed=0.71,
        descriptions=(
            "TableSourceScan(table=[default_catalog.default_database.orders], "
            "fields=[id, product, amount, currency, ordered])",
            "Calc(select=[product, amount, currency, ordered], where=[(amount > 10)])",
        ),
    ),
    FakeOperator(
        "GroupAggregate[3]",
        (0,),
        18_420,
        9_210,
        0.96,
        skew=3.4,
        descriptions=(
            "GroupAggregate(groupBy=[product, currency], select=[product, currency, "
            "SUM(amount) AS revenue, COUNT(*) AS orders])",
        ),
    ),
    FakeOperator(
        "Calc[4] -> revenue[5]",
        (1,),
        9_210,
        9_210,
        0.12,
        "FORWARD",
        descriptions=(
            "Calc(select=[product, revenue, orders], where=[(revenue > 1000)])",
            "Sink(table=[default_catalog.default_database.revenue], "
            "fields=[product, revenue, orders])",
        ),
    ),
)
REVENUE_PLAN = """\
Sink(table=[default_catalog.default_database.revenue], fields=[product, revenue, orders])
+- Calc(select=[product, revenue, orders], where=[(revenue > 1000)])
   +- GroupAggregate(groupBy=[product, currency], select=[product, currency, SUM(amount)])
      +- Exchange(distribution=[hash])
         +- Calc(select=[product, amount, currency, ordered], where=[(amount > 10)])
            +- TableSourceScan(table=[default_catalog.default_database.orders], fields=[id])
"""
CLICKS = (
    FakeOperator("Source: clicks", (), 0, 96_100, 0.52),
    FakeOperator("Sessions by visitor", (0,), 96_100, 1_830, 0.71),
    FakeOperator("Sink: sessions (Iceberg)", (1,), 1_830, 1_830, 0.22, "FORWARD"),
)
CART = (
    FakeOperator("Ingress shop/orders (Kafka)", (), 0, 4_180, 0.22),
    FakeOperator("Functions module", (0,), 9_630, 4_150, 0.58),
    FakeOperator("Egress shop/receipts (Kafka)", (1,), 4_150, 4_150, 0.11, "FORWARD"),
)
TRACEBACK = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/millrace/runtime/subtask.py", line 214, in process
    self._operator.process(batch, self._emit)
  File "/opt/lib/python3.11/site-packages/millrace/runtime/operators/map.py", line 41, in process
    emit(self._function(value))
  File "/srv/jobs/fraud_alerts.py", line 57, in score
    return Alert(payment.card, risk(payment))
  File "/srv/jobs/fraud_rules.py", line 23, in risk
    return LIMITS[payment.country] / payment.amount
           ~~~~~~^^^^^^^^^^^^^^^^^
KeyError: 'XK'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/pyspark/worker.py", line 1250, in main
    process()
millrace.common.errors.UserFunctionError: operator 'Score payments' failed on the record
Payment(card='4971 **** 0119', country='XK', amount=125.0)
"""


def hundred() -> list[FakeOperator]:
    """Ten lines of ten operators; now and then one reads from its neighbour, too."""
    operators = []
    for number in range(100):
        row, column = number % 10, number // 10
        before = (column - 1) * 10
        crosses = column % 3 == 1 and row % 2 == 0
        inputs = () if column == 0 else (before + row, *([before + row + 1] if crosses else []))
        busy = 0.97 if number == 63 else 0.1 + (number * 37 % 60) / 100
        rate = 1_000.0 + number * 10
        operators.append(FakeOperator(f"Step {column + 1}.{row + 1}", inputs, rate, rate, busy))
    return operators


def flame(name: str, value: int, *children: Json) -> Json:
    """A call of a flame graph."""
    return {"name": name, "value": value, "children": list(children)}


def function(name: str, rate: float, p50: float, **figures: Any) -> Json:
    """A type of Stateful Functions behind a load balancer, unless the figures say otherwise."""
    return {
        "namespace": "com.example.shop",
        "name": name,
        "endpoint": f"https://functions.shop.example/{name}",
        "messages": round(rate * 18_000),
        "messages-per-second": rate,
        "latency-ms": {"p50": p50, "p99": p50 * 7, "max": p50 * 20},
        "backlog": 0,
        "blocked-addresses": 0,
        "in-flight": 12,
        "failures": 0,
        "failures-per-second": 0,
        "sent-local": 41_000,
        "sent-remote": 39_500,
        "sent-egress": 1_200,
        "addresses": 184_220,
        "state-bytes": 31_400_000,
        **figures,
    }


CART_NOTICES = (
    {
        "level": "WARNING",
        "logger": "millrace.statefun.invocation.remote",
        "text": "function shop/stock/tea at http://stock:8000/ has not succeeded for 30 s "
        "(5 attempts): connection refused",
        "taskName": "functions",
        "subtasks": [0, 1],
        "count": 12,
        "ago": 8_000,
    },
    {
        "level": "INFO",
        "logger": "millrace.statefun.application.playground",
        "text": "the ingress of the playground listens on http://127.0.0.1:8090",
        "taskName": None,
        "subtasks": [],
        "count": 1,
        "ago": 5 * HOUR,
    },
)
CART_FUNCTIONS = (
    function("cart", 4_180, 2.4, backlog=1_842),
    function("stock", 3_920, 0.31, endpoint="embedded", **{"in-flight": 0, "addresses": 1_204}),
    function("receipt", 1_530, 38, failures=17, **{"failures-per-second": 0.2, "state-bytes": 0}),
)


def jobs() -> list[FakeJob]:
    """One of each kind."""
    failure = {"exceptionName": "KeyError", "stacktrace": TRACEBACK, "taskName": "Score payments"}
    failure["record"] = "{'card': None, 'cents': 1200}"
    fraud = (
        FakeOperator("Source: payments", (), 0, 820, 0.2),
        FakeOperator("Score payments", (0,), 820, 4, 0.4),
        FakeOperator("Sink: alerts", (1,), 4, 4, 0.1, "FORWARD"),
    )
    return [
        FakeJob("Orders to revenue", "RUNNING", ORDERS, 53 * HOUR, failed_checkpoint=True),
        FakeJob("Click sessions", "RUNNING", CLICKS, 5 * HOUR, 8, state_bytes=2_100_000_000),
        FakeJob("Revenue in SQL", "RUNNING", REVENUE, 2 * HOUR, 4),
        FakeJob(
            "Shopping carts",
            "RUNNING",
            CART,
            5 * HOUR,
            2,
            functions=CART_FUNCTIONS,
            notices=CART_NOTICES,
        ),
        FakeJob("Hundred operators", "RUNNING", hundred(), 42 * MINUTE, 2),
        FakeJob(
            "Ad impressions",
            "RESTARTING",
            CLICKS[:2],
            3 * HOUR,
            restarts=3,
            exceptions=[{**failure, "ago": 20_000}],
        ),
        FakeJob(
            "Fraud alerts",
            "FAILED",
            fraud,
            9 * HOUR,
            ended_after=2 * HOUR,
            restarts=2,
            exceptions=[{**failure, "ago": 7 * HOUR}, {**failure, "ago": 7 * HOUR + 3 * MINUTE}],
        ),
        FakeJob("Backfill of October", "FINISHED", CLICKS, 30 * HOUR, ended_after=11 * HOUR),
        FakeJob("Sensor cleanup", "CANCELED", fraud, 75 * HOUR, ended_after=4 * HOUR),
    ]


class FakeJobs:
    """Answers about jobs.

    Args:
        clock: the time, in ms since the epoch of Unix.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.jobs = {job.id: job for job in jobs()}
        self.asked: dict[str, Json] = {}
        """Answers to triggers, by request id."""
        self.place: Json = {
            "id": "daily/report.py",
            "name": "report.py",
            "uploaded": clock() - 90 * HOUR,
            "entry": [],
        }
        """A program on the server's machine."""
        self.programs: list[Json] = [
            {
                "id": "5f2c_orders.py",
                "name": "orders.py",
                "uploaded": clock() - 26 * HOUR,
                "entry": [],
            },
            {
                "id": "90ab_sessions.py",
                "name": "sessions.py",
                "uploaded": clock() - HOUR,
                "entry": [],
            },
        ]

    def overview(self) -> Json:
        states = [job.state for job in self.jobs.values()]
        return {
            "taskmanagers": 3,
            "slots-total": 24,
            "slots-available": 6,
            "jobs-running": states.count("RUNNING") + states.count("RESTARTING"),
            "jobs-finished": states.count("FINISHED"),
            "jobs-cancelled": states.count("CANCELED"),
            "jobs-failed": states.count("FAILED"),
            "flink-version": "2.0.0",
            "millrace-version": "0.9.0",
        }

    def summaries(self) -> Json:
        return {"jobs": [self._summary(job) for job in self.jobs.values()]}

    def _summary(self, job: FakeJob) -> Json:
        now = self.clock()
        start = now - job.age
        end = -1 if job.ended_after is None else start + job.ended_after
        return {
            "jid": job.id,
            "name": job.name,
            "state": job.state,
            "start-time": start,
            "end-time": end,
            "duration": job.age if job.ended_after is None else job.ended_after,
            "last-modification": start,
            "tasks": {"total": len(job.operators) * job.parallelism},
            "records-per-second": job.rate if job.runs else None,
            "watermark-lag-ms": 1_240 + len(job.name) * 95 if job.runs else None,
            "last-checkpoint": now - 3_000 - len(job.name) * 100 if job.runs else None,
            "restarts": job.restarts,
            "error": job.exceptions[0]["stacktrace"] if job.state == "FAILED" else "",
            "waits-for": job.waits_for,
        }

    def details(self, job: FakeJob) -> Json:
        return {
            **self._summary(job),
            "now": self.clock(),
            "isStoppable": True,
            "maxParallelism": 128,
            "has-functions": bool(job.functions),
            "executor": "resident",
            "spark-ui": "http://driver-1:4040",
            "executor-reason": "a streaming job, and 4 slots are free for 2 tasks",
            "parallelism": job.parallelism,
            "epoch": 191_204 if job.runs else 44_871,
            "vertices": [self._vertex(job, operator) for operator in job.operators],
            "plan": {"nodes": [self._node(job, operator) for operator in job.operators]},
        }

    def _vertex(self, job: FakeJob, operator: FakeOperator) -> Json:
        known = job.state == "RUNNING"
        lag = 900 + round(operator.busy * 2_000)
        return {
            "id": operator.id,
            "uid": operator.name.lower().replace(" ", "-"),
            "name": operator.name,
            "parallelism": job.parallelism,
            "status": job.state,
            "duration": job.age,
            "metrics": {
                "read-records": round(operator.rate_in * 3_600),
                "write-records": round(operator.rate_out * 3_600),
            },
            "records-in-per-second": operator.rate_in if known else None,
            "records-out-per-second": operator.rate_out if known else None,
            "busy-ratio": operator.busy if known else None,
            "busy-ratio-median": operator.busy * 0.8 if known else None,
            "back-pressured-ratio": operator.pressed if known else None,
            "back-pressured-ratio-median": operator.pressed * 0.9 if known else None,
            "skew": operator.skew if known else None,
            "state-bytes": job.state_bytes if operator.inputs else 0,
            "watermark": self.clock() - lag if known else None,
            "watermark-lag-ms": lag if known else None,
        }

    def _node(self, job: FakeJob, operator: FakeOperator) -> Json:
        return {
            "id": operator.id,
            "parallelism": job.parallelism,
            "operator": "",
            "operator_strategy": "",
            "description": operator.name,
            "inputs": [
                {
                    "num": number,
                    "id": job.operators[place].id,
                    "ship_strategy": operator.ship,
                    "exchange": "pipelined_bounded",
                }
                for number, place in enumerate(operator.inputs)
            ],
            "operators": [
                {"uid": f"{operator.id[:6]}-{number}", "name": operator.name, "description": text}
                for number, text in enumerate(operator.descriptions)
            ],
        }

    def plan(self, job: FakeJob) -> Json:
        return {"plan": {"jid": job.id}, "text": REVENUE_PLAN if "SQL" in job.name else ""}

    def vertex(self, job: FakeJob, id: str) -> Json:
        operator = next(operator for operator in job.operators if operator.id == id)
        share = 3_600 / job.parallelism
        return {
            "id": id,
            "name": operator.name,
            "parallelism": job.parallelism,
            "now": self.clock(),
            "subtasks": [
                {
                    "subtask": index,
                    "status": job.state,
                    "attempt": 0,
                    "duration": job.age,
                    "endpoint": f"worker-{index % 3 + 1}:34021",
                    "host": f"worker-{index % 3 + 1}",
                    "busy-ratio": min(1, operator.busy * (0.9 + index * 0.05)),
                    "back-pressured-ratio": operator.pressed * (0.9 + index * 0.05),
                    "state-bytes": job.state_bytes // job.parallelism if operator.inputs else 0,
                    "watermark": self.clock() - 1_000 * index if job.runs else None,
                    "metrics": {
                        "read-records": round(operator.rate_in * share * (0.94 + index * 0.04)),
                        "write-records": round(operator.rate_out * share * (0.94 + index * 0.04)),
                    },
                }
                for index in range(job.parallelism)
            ],
            "operator-figures": [
                {
                    "uid": f"{operator.id[:6]}-{number}",
                    "name": operator.name,
                    "records-in": 41_000 - 1_000 * number,
                    "records-out": 40_000 - 1_000 * number,
                    "watermark": None,
                }
                for number in range(len(operator.descriptions))
            ],
        }

    def history(self, job: FakeJob, since: int) -> Json:
        """The last quarter of an hour; the figures of a moment do not change later."""
        end = self.clock() if job.ended_after is None else self.clock() - job.age + job.ended_after
        times = range((max(since, end - 15 * MINUTE) + 4_999) // 5_000 * 5_000, end + 1, 5_000)
        return {"series": [self._point(job, time) for time in times]}

    def _point(self, job: FakeJob, time: int) -> Json:
        wave = math.sin(time / 90_000) * 0.12 + math.sin(time / 17_000) * 0.05
        return {
            "time": time,
            "records-per-second": job.rate * (1 + wave),
            "epoch-ms": 410 * (1 + wave * 1.6),
            "checkpoint-ms": 96 * (1 + wave * 2),
            "checkpoint-bytes": job.state_bytes * (1 + wave / 3),
            "watermark-lag-ms": 1_900 * (1 + wave * 2),
            "busy-ratio": min(1, 0.62 * (1 + wave)),
            "latency-ms": 530 * (1 + wave),
        }

    def timeline(self, job: FakeJob) -> Json:
        """A run that crashed, one that goes on, and what happened in it."""
        begin = self.clock() - job.age
        end = self.clock() if job.ended_after is None else begin + job.ended_after
        whole = end - begin
        crash = begin + whole // 3

        def event(kind: str, time: int, stop: int | None, title: str, **more: Any) -> Json:
            rest = {"status": "COMPLETED", "detail": "", **more}
            return {"kind": kind, "time": time, "end": stop, "title": title, **rest}

        runs = [
            event("run", begin, crash, "Started", status="FAILED", detail="crashed: signal 9"),
            event("run", crash + 4_000, job.ended_after and end, "Started again (1)"),
        ]
        if job.runs:
            runs[1]["status"] = "IN_PROGRESS"
        checkpoints = [
            event("checkpoint", time, time + 90 + number, f"Checkpoint {191_184 + number}")
            for number, time in enumerate(range(end - 600_000, end, 30_000))
        ]
        checkpoints[7].update(status="FAILED", detail="s3://checkpoints: 503 Slow Down")
        path = f"s3://checkpoints/savepoint-{job.id[:6]}"
        found = [
            *runs,
            *checkpoints,
            event("restore", crash + 5_000, None, "Continued from checkpoint 88120, epoch 88120"),
            event("failure", crash, None, "Exception", status="FAILED", detail="signal 9"),
            event("savepoint", begin + whole // 2, None, "Savepoint", detail=path),
            event("rescale", begin + whole * 2 // 3, begin + whole * 3 // 4, "Rescaled to 4"),
        ]
        return {"begin": begin, "end": end, "events": sorted(found, key=lambda e: e["time"])}

    def preview(self, job: FakeJob) -> Json:
        """Only jobs in SQL allow it."""
        now = self.clock()
        records = [
            {"time": now - 40 * number, "subtask": number % 4, "text": f"Row({number}, 'kettle')"}
            for number in range(12)
        ]
        allowed = "SQL" in job.name
        return {"enabled": allowed, "operator": "o", "records": records if allowed else []}

    def flame_graph(self, kind: str) -> Json:
        """Samples of a function that decodes JSON for most of its time."""
        if kind == "OFF_CPU":
            return {"endTimestamp": self.clock() - 2_000, "data": flame("root", 0), "ticks": 250}
        score = flame(
            "score (/srv/jobs/fraud_alerts.py:57)",
            150,
            flame(
                "loads (json/__init__.py:346)",
                96,
                flame("JSONDecoder.raw_decode (json/decoder.py:354)", 81),
            ),
            flame("risk (/srv/jobs/fraud_rules.py:23)", 40),
        )
        operator = flame("MapOperator.process (millrace/runtime/operators/map.py:41)", 160, score)
        emit = flame("Output.emit (millrace/runtime/output.py:88)", 34)
        chain = flame(
            "EpochSubtask.run (millrace/runtime/epoch_subtask.py:96)", 203, operator, emit
        )
        return {
            "endTimestamp": self.clock() - 2_000,
            "data": flame("root", 203, chain),
            "ticks": 250,
        }

    def checkpoints(self, job: FakeJob) -> Json:
        history = [self._checkpoint(job, 191_203 - place * 10, place) for place in range(20)]
        completed = [one for one in history if one["status"] == "COMPLETED"]
        failed = [one for one in history if one["status"] == "FAILED"]
        return {
            "counts": {
                "restored": 1,
                "total": 19_120,
                "in_progress": 0,
                "failed": len(failed),
                "completed": 19_120 - len(failed),
            },
            "summary": {
                "end_to_end_duration": {"min": 61, "max": 2_410, "avg": 118, "p50": 96, "p99": 840}
            },
            "latest": {
                "completed": completed[0],
                "failed": failed[0] if failed else None,
                "savepoint": completed[4],
                "restored": {
                    "id": 88_120,
                    "restore_timestamp": self.clock() - job.age,
                    "is_savepoint": True,
                    "external_path": f"s3://checkpoints/savepoint-{job.id[:6]}-88120",
                },
            },
            "history": history,
        }

    def _checkpoint(self, job: FakeJob, id: int, place: int) -> Json:
        time = self.clock() - 4_000 - place * 10_000
        took = 84 + id * 53 % 61 + (1_900 if place == 7 else 0)
        made = {
            "id": id,
            "is_savepoint": place == 5,
            "trigger_timestamp": time,
            "checkpoint_type": "CHECKPOINT",
        }
        if job.failed_checkpoint and place == 11:
            message = (
                "The store did not answer within 10 s: s3://checkpoints/orders/chk-191093/_metadata"
            )
            return {
                **made,
                "status": "FAILED",
                "failure_timestamp": time,
                "failure_message": message,
            }
        return {
            **made,
            "status": "COMPLETED",
            "latest_ack_timestamp": time + took,
            "end_to_end_duration": took,
            "state_size": job.state_bytes + place * 21_000,
            "checkpointed_size": 310_000 + id * 7_919 % 90_000,
            "external_path": f"s3://checkpoints/{job.id[:6]}/chk-{id}",
            "discarded": place >= RETAINED,
        }

    def functions(self, job: FakeJob) -> Json:
        return {"functions": list(job.functions)}

    def exceptions(self, job: FakeJob) -> Json:
        now = self.clock()
        entries = [
            {
                **{k: v for k, v in one.items() if k != "ago"},
                "timestamp": now - one["ago"],
                "endpoint": "worker-2:34021",
            }
            for one in job.exceptions
        ]
        newest = entries[0] if entries else None
        return {
            "root-exception": newest and newest["stacktrace"],
            "timestamp": newest and newest["timestamp"],
            "exceptionHistory": {"entries": entries, "truncated": False},
            "notices": [
                {
                    **{k: v for k, v in one.items() if k != "ago"},
                    "first": now - one["ago"] - 5 * MINUTE,
                    "timestamp": now - one["ago"],
                }
                for one in job.notices
            ],
        }

    def stacks(self, job: FakeJob) -> Json:
        stack = (
            '  File "/srv/jobs/orders.py", line 88, in rate_of\n'
            "    return self.client.get(currency, timeout=None)\n"
            '  File "/opt/lib/python3.11/site-packages/urllib3/connection.py", line 198\n'
            "    sock.connect(address)"
        )
        subtasks = [
            {
                "operator": job.operators[-2].name,
                "subtask": 2,
                "worker": "worker-3 (pid 4121)",
                "seconds": 41.2,
                "stack": stack,
            },
            {
                "operator": job.operators[0].name,
                "subtask": 0,
                "worker": "worker-1 (pid 3990)",
                "seconds": 0.3,
                "stack": '  File "/srv/jobs/orders.py", line 31, in parse\n    return loads(line)',
            },
        ]
        return {"subtasks": subtasks, "epoch": None, "driver": None, "waits_for": ""}

    def log(self, job: FakeJob, offset: int, limit: int) -> Json:
        text = "".join(self._log_line(job, number) for number in range(1_200)).encode()
        start = max(0, len(text) + offset) if offset < 0 else min(offset, len(text))
        part = text[start : start + limit]
        return {
            "offset": start,
            "next": start + len(part),
            "size": len(text),
            "text": part.decode(errors="replace"),
        }

    def _log_line(self, job: FakeJob, number: int) -> str:
        said = {
            0: f"INFO  epoch: {190_004 + number} took {380 + number % 90} ms, 18,391 rows",
            7: "DEBUG kafka: partitions 0 to 11 assigned, none revoked",
            97: "WARNING checkpoint: the store took 1.9 s to write 310 KiB",
            211: "ERROR checkpoint: the store did not answer within 10 s; the next one is tried",
        }
        which = max((every for every in said if every and number % every == every - 1), default=0)
        minute, second = divmod(number, 60)
        return f"2026-11-24 13:{minute:02}:{second:02},104 {said[which]}\n"

    def config(self, job: FakeJob) -> Json:
        settings = {
            "execution.checkpointing.dir": "s3://checkpoints",
            "execution.checkpointing.interval": "10 s",
            "pipeline.max-parallelism": "128",
            "restart-strategy.type": "exponential-delay",
            "state.backend.type": "hashmap",
            "s3.secret-key": "******",
        }
        return {
            "jid": job.id,
            "name": job.name,
            "execution-config": {
                "execution-mode": "PIPELINED",
                "restart-strategy": "exponential-delay",
                "job-parallelism": job.parallelism,
                "object-reuse-mode": False,
                "user-config": settings,
            },
        }

    def attempts(self, job: FakeJob) -> Json:
        start, now = self.clock() - job.age, self.clock()
        ends = [start + (number + 1) * 20 * MINUTE for number in range(job.restarts)]
        lives = zip([start, *ends], [*ends, None], strict=True)
        return {
            "attempts": [
                {
                    "attempt": number,
                    "pid": 40_117 + number,
                    "start-time": begun,
                    "end-time": -1 if ended is None else ended,
                    "duration": (ended or now) - begun,
                    "outcome": "" if ended is None else "crashed: signal 9, SIGKILL",
                }
                for number, (begun, ended) in enumerate(lives)
            ]
        }

    def savepoints(self) -> Json:
        made = [
            ("a1", None, "Orders to revenue", 50, "savepoint"),
            ("a2", "a1", "Orders to revenue", 30, "savepoint"),
            ("b1", "a2", "Orders to revenue (branch)", 26, "savepoint"),
            ("a3", "a2", "Orders to revenue", 9, "savepoint"),
            ("b2", "b1", "Orders to revenue (branch)", 6, "checkpoint"),
            ("c1", "gone", "Click sessions", 4, "savepoint"),
            ("a4", "a3", "Orders to revenue", 1, "checkpoint"),
        ]
        return {
            "savepoints": [
                {
                    "id": id,
                    "path": f"s3://checkpoints/savepoint-{id}-{hours:05}",
                    "parent": parent,
                    "job-id": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
                    "job-name": name,
                    "time": self.clock() - hours * HOUR,
                    "kind": kind,
                    "size": 48_000_000 - hours * 310_000,
                    "epoch": 191_200 - hours * 3_600,
                    "format": "NATIVE",
                    "operators": [
                        {"uid": operator.id, "name": operator.name} for operator in ORDERS
                    ],
                }
                for id, parent, name, hours, kind in made
            ]
        }

    def differences(self) -> list[Json]:
        samples = [
            {
                "change": "changed",
                "key": "lamp",
                "window": "13:04 to 13:05",
                "old": 412.5,
                "new": 655.0,
            },
            {
                "change": "added",
                "key": "teapot",
                "window": None,
                "old": None,
                "new": {"sum": 19.9, "count": 1},
            },
            {
                "change": "removed",
                "key": "kettle",
                "window": None,
                "old": {"sum": 45.0, "count": 2},
                "new": None,
            },
        ]
        both = {"in_first": True, "in_second": True, "unread": None}
        return [
            {
                "uid": "revenue",
                "operator": ORDERS[4].name,
                "state": "windows",
                "kind": "aggregate",
                "added": 812,
                "changed": 4_410,
                "removed": 97,
                "samples": samples,
                **both,
            },
            {
                "uid": "convert",
                "operator": ORDERS[3].name,
                "state": "rates",
                "kind": "map",
                "added": 0,
                "changed": 12,
                "removed": 0,
                "samples": [],
                **both,
            },
            {
                "uid": "parse",
                "operator": ORDERS[2].name,
                "state": "seen",
                "kind": "value",
                "added": 0,
                "changed": 0,
                "removed": 0,
                "samples": [],
                **both,
            },
        ]

    def metrics(self, names: Sequence[str]) -> list[Json]:
        values = {
            "currentInputWatermark": self.clock() - 1_900,
            "lastCheckpointDuration": 96,
            "lastCheckpointSize": 312_400,
            "numRecordsIn": 66_312_000,
            "numRecordsInPerSecond": 18_420.0,
            "numRecordsOutPerSecond": 642.0,
            "numRestarts": 0,
            "uptime": 190_800_000,
        }
        if not names:
            return [{"id": name} for name in values]
        return [{"id": name, "value": str(values[name])} for name in names if name in values]

    def accumulators(self) -> Json:
        return {
            "job-accumulators": [],
            "user-task-accumulators": [
                {"name": "orders without a price", "type": "IntCounter", "value": "29"},
                {"name": "currencies", "type": "Histogram", "value": "{EUR=61204, USD=44310}"},
            ],
        }

    def workers(self) -> Json:
        return {
            "taskmanagers": [
                {
                    "id": f"worker-{number + 1}:34021",
                    "path": f"worker-{number + 1}:34021",
                    "slotsNumber": 16,
                    "host": f"worker-{number + 1}",
                    "timeSinceLastHeartbeat": self.clock() - 700,
                    "jobs": [job.id for job in self.jobs.values() if job.state == "RUNNING"],
                }
                for number in range(3)
            ]
        }

    def worker(self, id: str) -> Json:
        known = next(each for each in self.workers()["taskmanagers"] if each["id"] == id)
        running = [job for job in self.jobs.values() if job.id in known["jobs"]]
        return {
            **known,
            "subtasks": [
                {"jid": job.id, "vertex": each.id, "name": each.name, "subtask": number}
                for number, job in enumerate(running)
                for each in job.operators[:3]
            ],
        }

    def thread_dump(self) -> Json:
        stack = '  File "/srv/jobs/orders.py", line 48, in convert\n    rate_of(order)\n'
        name = "Orders to revenue: Convert currencies (3)"
        return {"threadInfos": [{"threadName": name, "stringifiedThreadInfo": stack}]}

    def job_settings(self, job: FakeJob) -> list[Json]:
        origins = {"execution.checkpointing.dir": "config.yaml", "parallelism.default": "job"}
        settings = self.config(job)["execution-config"]["user-config"]
        return [
            {"key": key, "value": str(value), "origin": origins.get(key, "default")}
            for key, value in settings.items()
        ]

    def settings(self) -> list[Json]:
        values = {
            "rest.bind-address": "127.0.0.1",
            "rest.port": "8081",
            "web.submit.enable": "true",
            "jobstore.url": "sqlite:///jobs.db",
        }
        return [{"key": key, "value": value} for key, value in values.items()]

    def trigger(self, job: FakeJob, location: str) -> Json:
        """Take note of a request; asked for it once, it is in progress, and then it is done."""
        id = f"{len(self.asked):032x}"
        self.asked[id] = {"status": {"id": "IN_PROGRESS"}, "operation": {"location": location}}
        job.savepoints.append(location)
        return {"request-id": id}

    def answer(self, id: str) -> Json:
        answer = self.asked[id]
        self.asked[id] = {**answer, "status": {"id": "COMPLETED"}}
        return answer if answer["status"]["id"] == "COMPLETED" else {"status": answer["status"]}
