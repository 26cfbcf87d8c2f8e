"""``millrace try``: servers for trying out."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from millrace.cli.arguments import port
from millrace.cli.commands.grammar import EPILOG, Commands

if TYPE_CHECKING:
    from millrace.cli.trial.kafka_jars import KafkaJars

MAX_RATE = 1000.0


def register(commands: Commands) -> None:
    """Add the command with its subcommands."""
    parser = commands.add_parser(
        "try",
        help="start a server for trying out: kafka",
        description="Start a server on this machine for trying out.",
        epilog=EPILOG,
    )
    subcommands = parser.add_subparsers(title="servers", required=True, metavar="SERVER")
    kafka = subcommands.add_parser(
        "kafka",
        help="a Kafka broker with sample orders",
        description="Start a Kafka broker on loopback with a topic of sample orders and a topic "
        "for totals, and print a program that reads orders and writes totals. Records in 'totals' "
        "are printed. Ctrl-C ends the broker and removes its data. The broker comes from "
        "KAFKA_HOME or from the path; without one, Kafka is downloaded from Maven Central once "
        "(43 MB; MILLRACE_MAVEN_REPOSITORY names a mirror).",
        epilog=EPILOG,
    )
    kafka.add_argument(
        "--port", type=port, default=9092, help="port on loopback; 0: any free port (default: 9092)"
    )
    kafka.add_argument(
        "--rate",
        metavar="N",
        type=_rate,
        default=1.0,
        help="orders per second after the first ones; 0: none (default: 1)",
    )
    kafka.set_defaults(handler=handle_kafka)


def handle_kafka(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run a broker until Ctrl-C.

    Raises:
        TrialError: there is no Java, or no Kafka can be had or started.
        KafkaError: the client of Kafka is not installed.
    """
    from millrace.cli.trial.kafka_jars import TrialError
    from millrace.cli.trial.kafka_trial import KafkaTrial, program, statements
    from millrace.cli.trial.trial_broker import TrialBroker
    from millrace.connectors.kafka.client import import_confluent_kafka
    from millrace.spark.java_version import find_java

    import_confluent_kafka()
    java = find_java()
    problem = java.problem()
    if problem is not None or java.path is None:
        raise TrialError(problem or "there is no Java")
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        jars = _jars()
        _say(f"starting Kafka ({jars.origin})")
        with TrialBroker(java.path, jars, args.port) as broker:
            trial = KafkaTrial(broker, args.rate, _say)
            trial.prepare()
            _say(f"Kafka answers at {broker.address}; Ctrl-C ends it and removes its data.\n")
            _say(f"topic orders: 4 orders{(', and more as time goes on' if args.rate else '')}")
            _say("topic totals: empty; records written to it are printed here\n")
            _say("Save these lines as totals.py, and run them in another terminal")
            _say("with 'millrace run totals.py':\n")
            _say(program(broker.address))
            _say("Or save these lines as totals.sql, and run 'millrace sql -f totals.sql':\n")
            _say(statements(broker.address))
            _say("Records that arrive in the topic totals:\n")
            try:
                trial.run()
            finally:
                trial.close()
    except KeyboardInterrupt:
        _say("\nKafka has ended, and its data is removed.")
    return 0


def _jars() -> KafkaJars:
    from millrace.cli.terminal import Terminal
    from millrace.cli.trial.kafka_jars import VERSION, download, downloaded_jars, installed_jars

    jars = installed_jars()
    if jars is not None:
        return jars
    jars, terminal = downloaded_jars(), Terminal()

    def progress(ready: int, total: int) -> None:
        if terminal.interactive:
            terminal.show(f"Kafka {VERSION}: {ready / 1e6:.0f} of {total / 1e6:.0f} MB")

    download(jars, progress)
    terminal.clear()
    return jars


def _say(text: str) -> None:
    from millrace.cli.printing import printable

    print(printable(text, keep="\n"))
    sys.stdout.flush()


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 <= rate <= MAX_RATE:
        raise ValueError
    return rate
