"""A server that speaks Firehose's protocol on loopback, and keeps what it takes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MOST_RECORDS, MOST_BYTES, LARGEST = 500, 4 << 20, 1000 << 10
ACTION = "Firehose_20150804.PutRecordBatch"


@dataclass
class FirehoseServer:
    """Takes the records of a delivery stream; each request takes the next of `script`: the places
    of the records that it leaves out."""

    stream: str
    script: list[set[int]] = field(default_factory=list)
    taken: list[bytes] = field(default_factory=list)
    requests: list[list[bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def properties(self) -> dict[str, str]:
        """What makes a client of it."""
        return {
            "aws.region": "eu-west-1",
            "aws.endpoint": f"http://127.0.0.1:{self.port}",
            "aws.credentials.provider.basic.accesskeyid": "id",
            "aws.credentials.provider.basic.secretkey": "secret",
        }

    def answer(self, action: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if action != ACTION:
            return 400, {"__type": "UnknownOperationException"}
        if body["DeliveryStreamName"] != self.stream:
            return 400, {"__type": "ResourceNotFoundException", "message": "Firehose not found"}
        records = [base64.b64decode(record["Data"]) for record in body["Records"]]
        sizes = [len(record) for record in records]
        if len(sizes) > MOST_RECORDS or sum(sizes) > MOST_BYTES or max(sizes) > LARGEST:
            return 400, {"__type": "InvalidArgumentException", "message": "too much"}
        self.requests.append(records)
        left = self.script.pop(0) if self.script else set()
        self.taken += [record for place, record in enumerate(records) if place not in left]
        results: list[dict[str, str]] = [
            {"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "slow down"}
            if place in left
            else {"RecordId": str(place)}
            for place in range(len(records))
        ]
        return 200, {"FailedPutCount": len(left), "RequestResponses": results}


@contextmanager
def firehose_server(stream: str) -> Iterator[FirehoseServer]:
    """One that runs."""
    server = FirehoseServer(stream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, answer = server.answer(self.headers["x-amz-target"], body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/x-amz-json-1.1")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
