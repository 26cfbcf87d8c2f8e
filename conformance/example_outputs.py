"""What PyFlink's examples put out, and which of them wait for a part that is not there yet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

WAITING: dict[str, str] = {}
"""Programs that cannot run yet, with what Millrace says when they are started."""

BROKEN = {
    "table/basic_operations.py": "'function' object has no attribute 'loads'",
}
"""Programs that fail in PyFlink 2.3, too, and what they say."""

SERVERS = {
    "datastream/connectors/elasticsearch.py": "Elasticsearch 6 and 7 at localhost:9200",
    "datastream/connectors/kafka_avro_format.py": "a Kafka broker at localhost:9092",
    "datastream/connectors/kafka_bytearray_format.py": "a Kafka broker at localhost:9092",
    "datastream/connectors/kafka_csv_format.py": "a Kafka broker at localhost:9092",
    "datastream/connectors/kafka_json_format.py": "a Kafka broker at localhost:9092",
    "datastream/connectors/kafka_row_field_extractor_example.py": "a Kafka broker at localhost:"
    "9092",
    "datastream/connectors/pulsar.py": "a Pulsar broker at localhost:6650",
}
"""Programs that are not run here, with what they need; the connectors' tests run their like."""

BATCH = {"datastream/word_count.py"}
"""Programs of the DataStream API in BATCH mode, which the epoch executor alone runs."""

ENDLESS = {
    "datastream/asyncio/remote_model_inference.py": r"\{\"user_id\": -?\d+, "
    r"\"comments\": \"[0-9a-f]+\", "
    r"\"analysis_result\": (\"positive\"|null)\}",
    "datastream/streaming_word_count.py": r"\('\w+', [1-9]\d*\)",
    "table/streaming_word_count.py": r"[+-][IU]\[\w+, [1-9]\d*\]",
}
"""Programs that run until they are stopped, with what each line of their results is."""

INPUT = "to be or\nnot to be\n"
"""What programs with an input read."""


@dataclass(frozen=True)
class Expected:
    """What a program puts out when it is started with these arguments: at least these lines, and
    no others if ``all_of_them``."""

    lines: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    all_of_them: bool = True
    results: str = ""
    """Pattern of each result of a program whose results are random."""
    count: int = 0
    """How many of these there are."""
    changes: bool = False
    """Whether the lines are changes, of which the rows that are left count: how many updates there
    are depends on the executor, and on time."""

    def described(self) -> str:
        if self.results:
            return f"{self.count} results of the expected form"
        return f"{len(self.lines)} lines as expected {' '.join(self.arguments)}".strip()

    def difference(self, lines: list[str]) -> str:
        """What is missing, and what should not be there; empty if nothing is."""
        if self.results:
            found = sum(re.fullmatch(self.results, line) is not None for line in lines)
            return "" if found == self.count else f"{found} results, not {self.count}"
        given = Counter(rows_left(lines) if self.changes else map(as_values, lines))
        wanted = Counter(self.lines)
        missing, unexpected = wanted - given, given - wanted
        words = [f"missing: {line}" for line in missing.elements()]
        if self.all_of_them:
            said = ("Printing result to stdout.", "Executing ", "Use --input")
            words += [f"unexpected: {x}" for x in unexpected.elements() if not x.startswith(said)]
        return "; ".join(words)


def rows_left(lines: list[str]) -> Iterator[str]:
    """Lines that would insert the rows that changes leave; other lines are left out."""
    left: Counter[str] = Counter()
    for line in lines:
        if found := re.fullmatch(r"([+-])[IUD](\[.*\])", line):
            left[found[2]] += 1 if found[1] == "+" else -1
    return (f"+I{row}" for row in left.elements())


def as_values(line: str) -> str:
    """The line with numbers as they are written in full: sums of floats may end in 0.99999."""
    return line.replace("163.29999999999998", "163.3").replace("86.39999999999999", "86.4")


TO_A_FILE = ("--output", "OUTPUT")


def _printed_and_written(*lines: str) -> tuple[Expected, ...]:
    return Expected(lines), Expected(lines, TO_A_FILE)


EXPECTED: dict[str, tuple[Expected, ...]] = {
    "datastream/basic_operations.py": (
        Expected(
            (
                '(1, \'{"name": "Flink", "tel": 124, "addr": {"country": "Germany", "city": '
                '"Berlin"}}\')',
                '(2, \'{"name": "hello", "tel": 136, "addr": {"country": "China", "city": '
                '"Shanghai"}}\')',
                '(3, \'{"name": "world", "tel": 125, "addr": {"country": "USA", "city": '
                '"NewYork"}}\')',
                '(4, \'{"name": "PyFlink", "tel": 33, "addr": {"country": "China", "city": '
                '"Hangzhou"}}\')',
                '(1, \'{"name": "Flink", "tel": 124, "addr": {"country": "Germany", "city": '
                '"Berlin"}}\')',
                "('Germany', 123)",
                "('China', 135)",
                "('USA', 124)",
                "('China', 167)",
            )
        ),
    ),
    "datastream/event_time_timer.py": (
        Expected(("('Alice', 163.3)",) * 4 + ("('Bob', 102.5)",) * 4),
    ),
    "datastream/process_json_data.py": (
        Expected(
            (
                "(2, {'name': 'hello', 'tel': 136, 'addr': {'country': 'China', 'city': "
                "'Shanghai'}})",
                "(4, {'name': 'PyFlink', 'tel': 33, 'addr': {'country': 'China', 'city': "
                "'Hangzhou'}})",
            )
        ),
    ),
    "datastream/state_access.py": (
        Expected(
            (
                "('Alice', 110.1)",
                "('Bob', 30.2)",
                "('Alice', 130.1)",
                "('Bob', 83.3)",
                "('Alice', 143.2)",
                "('Bob', 86.4)",
                "('Bob', 102.5)",
                "('Alice', 163.3)",
            )
        ),
    ),
    "datastream/windowing/session_with_dynamic_gap_window.py": _printed_and_written(
        "('hi', 1, 30, 7)"
    ),
    "datastream/windowing/session_with_gap_window.py": _printed_and_written(
        "('hi', 1, 14, 6)", "('hi', 15, 20, 1)"
    ),
    "datastream/windowing/sliding_time_window.py": _printed_and_written(
        "('hi', -2, 3, 2)",
        "('hi', 0, 5, 4)",
        "('hi', 2, 7, 4)",
        "('hi', 4, 9, 3)",
        "('hi', 6, 11, 2)",
        "('hi', 8, 13, 2)",
        "('hi', 12, 17, 1)",
        "('hi', 14, 19, 1)",
    ),
    "datastream/windowing/tumbling_count_window.py": _printed_and_written(
        "('hi', 4)", "('hello', 6)", "('hello', 12)"
    ),
    "datastream/windowing/tumbling_time_window.py": _printed_and_written(
        "('hi', 0, 5, 4)", "('hi', 5, 10, 3)", "('hi', 15, 20, 1)"
    ),
    "datastream/word_count.py": (
        Expected(("('the', 15)", "('Whether', 1)", "('To', 4)"), all_of_them=False),
        Expected(
            ("('to', 2)", "('be', 2)", "('or', 1)", "('not', 1)"),
            ("--input", "INPUT", *TO_A_FILE),
        ),
    ),
    "table/async/async_scalar_function.py": (
        Expected(results=r"\| \+I \|.*(db_value_for_|Product ).*\|", count=20),
    ),
    "table/mixing_use_of_datastream_and_table.py": (Expected(results=r"\+I\[-?\d+\]", count=10),),
    "table/pandas/conversion_from_dataframe.py": (
        Expected(results=r"\d+ +0\.\d+  0\.\d+", count=10),
    ),
    "table/word_count.py": (
        Expected(("+I[the, 15]", "+I[Whether, 1]", "+I[To, 4]"), all_of_them=False, changes=True),
    ),
    "table/multi_sink.py": (
        Expected(
            (
                "+I[1, Hello]",
                "+I[2, World]",
                "+I[3, Flink]",
                "+I[3, Flink]",
                "+I[4, PyFlink]",
            )
        ),
    ),
    "table/process_json_data.py": (
        Expected(
            (
                "+I[1, Germany]",
                "+I[2, China]",
                "+I[3, USA]",
                "+I[4, China]",
            )
        ),
    ),
    "table/process_json_data_with_udf.py": (
        Expected(
            (
                '+I[1, {"name": "Flink", "tel": 124, '
                '"addr": {"country": "Germany", "city": "Berlin"}}]',
                '+I[2, {"name": "hello", "tel": 136, '
                '"addr": {"country": "China", "city": "Shanghai"}}]',
                '+I[3, {"name": "world", "tel": 125, '
                '"addr": {"country": "USA", "city": "NewYork"}}]',
                '+I[4, {"name": "PyFlink", "tel": 33, '
                '"addr": {"country": "China", "city": "Hangzhou"}}]',
            )
        ),
    ),
    "table/pandas/pandas_udaf.py": (
        Expected(
            (
                "+I[Alice, 65.05, 1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z]",
                "+I[Bob, 28.800001, 1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z]",
                "+I[Alice, 13.1, 1970-01-01T00:00:05Z, 1970-01-01T00:00:10Z]",
                "+I[Bob, 16.1, 1970-01-01T00:00:05Z, 1970-01-01T00:00:10Z]",
                "+I[Alice, 20.1, 1970-01-01T00:00:10Z, 1970-01-01T00:00:15Z]",
            )
        ),
    ),
    "table/windowing/over_window.py": (
        Expected(
            (
                "+I[Alice, 110.1]",
                "+I[Alice, 110.1]",
                "+I[Alice, 110.1]",
                "+I[Alice, 20.1]",
                "+I[Bob, 53.1]",
                "+I[Bob, 53.1]",
                "+I[Bob, 53.1]",
                "+I[Bob, 30.2]",
            )
        ),
    ),
    "table/windowing/session_window.py": (
        Expected(
            (
                "+I[Alice, 130.1, 1970-01-01T00:00:01Z, 1970-01-01T00:00:08Z]",
                "+I[Bob, 99.4, 1970-01-01T00:00:02Z, 1970-01-01T00:00:13Z]",
                "+I[Alice, 20.1, 1970-01-01T00:00:10Z, 1970-01-01T00:00:15Z]",
            )
        ),
    ),
    "table/windowing/sliding_window.py": (
        Expected(
            (
                "+I[Alice, 110.1, 1969-12-31T23:59:58Z, 1970-01-01T00:00:03Z]",
                "+I[Bob, 53.1, 1969-12-31T23:59:58Z, 1970-01-01T00:00:03Z]",
                "+I[Bob, 86.4, 1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z]",
                "+I[Alice, 130.1, 1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z]",
                "+I[Alice, 33.1, 1970-01-01T00:00:02Z, 1970-01-01T00:00:07Z]",
                "+I[Bob, 86.4, 1970-01-01T00:00:02Z, 1970-01-01T00:00:07Z]",
                "+I[Bob, 46.300003, 1970-01-01T00:00:04Z, 1970-01-01T00:00:09Z]",
                "+I[Alice, 13.1, 1970-01-01T00:00:04Z, 1970-01-01T00:00:09Z]",
                "+I[Alice, 20.1, 1970-01-01T00:00:06Z, 1970-01-01T00:00:11Z]",
                "+I[Bob, 16.1, 1970-01-01T00:00:06Z, 1970-01-01T00:00:11Z]",
                "+I[Alice, 20.1, 1970-01-01T00:00:08Z, 1970-01-01T00:00:13Z]",
                "+I[Alice, 20.1, 1970-01-01T00:00:10Z, 1970-01-01T00:00:15Z]",
            )
        ),
    ),
    "table/windowing/tumble_window.py": (
        Expected(
            (
                "+I[Alice, 130.1, 1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z]",
                "+I[Bob, 86.4, 1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z]",
                "+I[Alice, 13.1, 1970-01-01T00:00:05Z, 1970-01-01T00:00:10Z]",
                "+I[Bob, 16.1, 1970-01-01T00:00:05Z, 1970-01-01T00:00:10Z]",
                "+I[Alice, 20.1, 1970-01-01T00:00:10Z, 1970-01-01T00:00:15Z]",
            )
        ),
    ),
}
"""Per program, what it puts out; the values are those that the program's windows and sums have by
Flink's definition, written as Python writes them."""
