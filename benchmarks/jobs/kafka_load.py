"""Sends records at a fixed rate to one topic and times the results in another.

    python kafka_load.py SERVERS SOURCE SINK --seconds S --rate R --warm-up W

A record is ``key,time it was due in ns``, a result ends with that time. Only committed results are
seen. Prints one JSON line: milliseconds from when each was due to when its result was seen.
"""

from __future__ import annotations

import argparse
import json
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

KEYS = 1000
SECOND = 1_000_000_000


def send(servers: str, topic: str, rate: int, count: int, start: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for number in range(count):
        due = start + number * SECOND // rate
        while (ahead := due - time.time_ns()) > 0:
            time.sleep(ahead / SECOND)
        producer.produce(topic, f"{number % KEYS},{due}".encode(), partition=number % 2)
        producer.poll(0)
    producer.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers")
    parser.add_argument("source")
    parser.add_argument("sink")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=8)
    args = parser.parse_args()
    config = {
        "bootstrap.servers": args.servers,
        "group.id": "load",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 10,
    }
    consumer = Consumer(config)
    consumer.assign([TopicPartition(args.sink, number, 0) for number in range(2)])
    start = time.time_ns() + SECOND
    count = (args.seconds + args.warm_up) * args.rate
    arguments = (args.servers, args.source, args.rate, count, start)
    threading.Thread(target=send, args=arguments, daemon=True).start()
    counted_from = start + args.warm_up * SECOND
    latencies: list[float] = []
    seen = 0
    give_up = time.monotonic() + args.seconds + args.warm_up + 60
    while seen < count and time.monotonic() < give_up:
        # `consume` alone returns when it has as many as asked for, or when its time is over
        first = consumer.poll(0.1)
        if first is None:
            continue
        for message in (first, *consumer.consume(999, timeout=0)):
            if message.error() is not None:
                continue
            now, due = time.time_ns(), int(message.value().rpartition(b",")[2])
            seen += 1
            if due >= counted_from:
                latencies.append(round((now - due) / 1e6, 1))
    consumer.close()
    print(json.dumps({"latency_ms": latencies, "missing": count - seen}))


if __name__ == "__main__":
    main()
