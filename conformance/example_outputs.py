"""What PyFlink's examples put out, and which of them wait for a part that is not there yet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

WAITING = {
    "connectors/elasticsearch.py": "Millrace has no connector for Elasticsearch 6 yet",
}
"""Programs that cannot run yet, with what Millrace says when they are started."""

SERVERS = {
    "connectors/kafka_avro_format.py": "a Kafka broker at localhost:9092",
    "connectors/kafka_bytearray_format.py": "a Kafka broker at localhost:9092",
    "connectors/kafka_csv_format.py": "a Kafka broker at localhost:9092",
    "connectors/kafka_json_format.py": "a Kafka broker at localhost:9092",
    "connectors/kafka_row_field_extractor_example.py": "a Kafka broker at localhost:9092",
    "connectors/pulsar.py": "a Pulsar broker at localhost:6650",
}
"""Programs that are not run here, with what they need; the connectors' tests run their like."""

ENDLESS = {
    "asyncio/remote_model_inference.py": r"\{\"user_id\": -?\d+, \"comments\": \"[0-9a-f]+\", "
    r"\"analysis_result\": (\"positive\"|null)\}",
    "streaming_word_count.py": r"\('\w+', [1-9]\d*\)",
}
"""Programs that run until they are stopped, with what each line of their results is."""

INPUT = "to be or\nnot to be\n"
"""What programs with an input read."""


@dataclass(frozen=True)
class Expected:
    """What a program puts out when it is started with these arguments: at least these lines, and
    no others if ``all_of_them``."""

    lines: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    all_of_them: bool = True

    def described(self) -> str:
        return f"{len(self.lines)} lines as expected {' '.join(self.arguments)}".strip()

    def difference(self, lines: list[str]) -> str:
        """What is missing, and what should not be there; empty if nothing is."""
        wanted, found = Counter(self.lines), Counter(map(as_values, lines))
        missing, unexpected = wanted - found, found - wanted
        words = [f"missing: {line}" for line in missing.elements()]
        if self.all_of_them:
            said = ("Printing result to stdout.", "Executing word_count", "Use --input")
            words += [f"unexpected: {x}" for x in unexpected.elements() if not x.startswith(said)]
        return "; ".join(words)


def as_values(line: str) -> str:
    """The line with numbers as they are written in full: sums of floats may end in 0.99999."""
    return line.replace("163.29999999999998", "163.3").replace("86.39999999999999", "86.4")


TO_A_FILE = ("--output", "OUTPUT")


def _printed_and_written(*lines: str) -> tuple[Expected, ...]:
    return Expected(lines), Expected(lines, TO_A_FILE)


EXPECTED: dict[str, tuple[Expected, ...]] = {
    "basic_operations.py": (
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
    "event_time_timer.py": (Expected(("('Alice', 163.3)",) * 4 + ("('Bob', 102.5)",) * 4),),
    "process_json_data.py": (
        Expected(
            (
                "(2, {'name': 'hello', 'tel': 136, 'addr': {'country': 'China', 'city': "
                "'Shanghai'}})",
                "(4, {'name': 'PyFlink', 'tel': 33, 'addr': {'country': 'China', 'city': "
                "'Hangzhou'}})",
            )
        ),
    ),
    "state_access.py": (
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
    "windowing/session_with_dynamic_gap_window.py": _printed_and_written("('hi', 1, 30, 7)"),
    "windowing/session_with_gap_window.py": _printed_and_written(
        "('hi', 1, 14, 6)", "('hi', 15, 20, 1)"
    ),
    "windowing/sliding_time_window.py": _printed_and_written(
        "('hi', -2, 3, 2)",
        "('hi', 0, 5, 4)",
        "('hi', 2, 7, 4)",
        "('hi', 4, 9, 3)",
        "('hi', 6, 11, 2)",
        "('hi', 8, 13, 2)",
        "('hi', 12, 17, 1)",
        "('hi', 14, 19, 1)",
    ),
    "windowing/tumbling_count_window.py": _printed_and_written(
        "('hi', 4)", "('hello', 6)", "('hello', 12)"
    ),
    "windowing/tumbling_time_window.py": _printed_and_written(
        "('hi', 0, 5, 4)", "('hi', 5, 10, 3)", "('hi', 15, 20, 1)"
    ),
    "word_count.py": (
        Expected(("('the', 15)", "('Whether', 1)", "('To', 4)"), all_of_them=False),
        Expected(
            ("('to', 2)", "('be', 2)", "('or', 1)", "('not', 1)"),
            ("--input", "INPUT", *TO_A_FILE),
        ),
    ),
}
"""Per program, what it puts out; the values are those that the program's windows and sums have by
Flink's definition, written as Python writes them."""
