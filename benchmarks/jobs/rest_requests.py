"""Sends requests to a job server at a fixed rate and times the answers.

    python rest_requests.py URL JOB --rate R --seconds S

Asks for what the pages of the web UI ask for. Times count from when a request was due, so that one
slow answer is not hidden by the requests that wait for it. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import http.client
import json
import threading
import time
from urllib.parse import urlsplit

CONNECTIONS = 8


def paths(url: str, job: str) -> list[str]:
    """What is asked for, in turn."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request("GET", f"/jobs/{job}")
    vertices = json.loads(connection.getresponse().read())["vertices"]
    vertex = f"/jobs/{job}/vertices/{vertices[-1]['id']}"
    return [
        "/overview",
        "/jobs/overview",
        f"/jobs/{job}",
        f"{vertex}",
        f"{vertex}/subtasks/metrics?get=numRecordsInPerSecond,busyTimeMsPerSecond",
        f"{vertex}/watermarks",
        f"/jobs/{job}/checkpoints",
        f"/jobs/{job}/exceptions",
        f"/jobs/{job}/metrics?get=lastCheckpointDuration",
        f"/jobs/{job}/plan",
    ]


class Asker(threading.Thread):
    """One connection, which sends every nth request."""

    def __init__(self, url: str, asked: list[str], dues: list[float]) -> None:
        super().__init__(daemon=True)
        self._address = urlsplit(url).netloc
        self._asked = asked
        self._dues = dues
        self.answer_ms: list[float] = []
        self.errors: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        for number, due in enumerate(self._dues):
            if (ahead := due - time.perf_counter()) > 0:
                time.sleep(ahead)
            path = self._asked[number % len(self._asked)]
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.errors.append(f"{path}: {answer.status}")
            except (OSError, http.client.HTTPException) as error:
                self.errors.append(f"{path}: {error!r}")
                connection.close()
            self.answer_ms.append(round((time.perf_counter() - due) * 1000, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("job")
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    args = parser.parse_args()
    asked = paths(args.url, args.job)
    start = time.perf_counter() + 0.2
    dues = [start + number / args.rate for number in range(args.rate * args.seconds)]
    askers = [
        # each begins elsewhere: else one would ask for the same few paths all the time
        Asker(args.url, asked[index:] + asked[:index], dues[index::CONNECTIONS])
        for index in range(CONNECTIONS)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    answer_ms = [ms for asker in askers for ms in asker.answer_ms]
    errors = [error for asker in askers for error in asker.errors]
    print(json.dumps({"answer_ms": answer_ms, "errors": errors[:20]}))


if __name__ == "__main__":
    main()
