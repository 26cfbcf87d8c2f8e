"""A schema registry on loopback that speaks the REST interface of Confluent's: real HTTP, with the
schemas in memory. Confluent's own needs a JVM, a Kafka broker and packages that no registry has."""

from __future__ import annotations

import json
import re
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class SchemaRegistry:
    """The server; a context manager.

    Attributes:
        requests: method and path of what was asked, in order.
        failures: status codes that the next requests get.
        authorization: the header that is asked for; None: none.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.failures: list[int] = []
        self.authorization: str | None = None
        self.redirect: str | None = None
        """Where requests are sent on to."""
        self.incompatible: set[str] = set()
        """Subjects that take no further schema."""
        self._schemas: list[dict[str, Any]] = []
        self._subjects: dict[str, list[int]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> SchemaRegistry:
        # it looks this often whether it is to end
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def ask_for_user(self, user: str, password: str) -> None:
        """Let only this user in."""
        self.authorization = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"

    def register(self, subject: str, schema: Any, kind: str = "AVRO", references: Any = ()) -> int:
        """The id of a schema, which is registered if it is not there."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        entry = {"schema": text, "schemaType": kind, "references": list(references)}
        if entry not in self._schemas:
            self._schemas.append(entry)
        number = self._schemas.index(entry) + 1
        versions = self._subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def answer(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        """Status and content of the answer to a request."""
        if found := re.fullmatch(r"/schemas/ids/(\d+)", path):
            number = int(found[1])
            if not 1 <= number <= len(self._schemas):
                return 404, {"error_code": 40403, "message": "Schema not found"}
            return 200, _public(self._schemas[number - 1])
        if found := re.fullmatch(r"/subjects/([^/]+)/versions/(\d+)", path):
            versions = self._subjects.get(unquote(found[1]), [])
            version = int(found[2])
            if not 1 <= version <= len(versions):
                return 404, {"error_code": 40402, "message": "Version not found"}
            schema = _public(self._schemas[versions[version - 1] - 1])
            return 200, {**schema, "id": versions[version - 1], "version": version}
        if method == "POST" and (found := re.fullmatch(r"/subjects/([^/]+)(/versions)?", path)):
            return self._post(unquote(found[1]), body, registers=bool(found[2]))
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _post(self, subject: str, body: Any, registers: bool) -> tuple[int, dict[str, Any]]:
        kind, references = body.get("schemaType", "AVRO"), body.get("references", [])
        entry = {"schema": body["schema"], "schemaType": kind, "references": references}
        known = [self._schemas[number - 1] for number in self._subjects.get(subject, [])]
        if not registers:
            if entry not in known:
                return 404, {"error_code": 40403, "message": "Schema not found"}
            number = self._schemas.index(entry) + 1
            version = self._subjects[subject].index(number) + 1
            return 200, {"subject": subject, "id": number, "version": version, **_public(entry)}
        if subject in self.incompatible and entry not in known:
            return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
        return 200, {"id": self.register(subject, body["schema"], kind, references)}

    def _handler(registry: Any) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                registry.requests.append((self.command, self.path))
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                if registry.failures:
                    status, content = registry.failures.pop(0), {"message": "come again"}
                elif registry.authorization not in (None, self.headers.get("Authorization")):
                    status, content = 401, {"error_code": 401, "message": "Unauthorized"}
                else:
                    status, content = registry.answer(self.command, self.path, body)
                data = json.dumps(content).encode()
                if registry.redirect is not None:
                    status = 302
                self.send_response(status)
                if registry.redirect is not None:
                    self.send_header("Location", registry.redirect + self.path)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _serve

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def _public(entry: dict[str, Any]) -> dict[str, Any]:
    """As the registry shows it: Avro and no references are left out."""
    found = {"schema": entry["schema"]}
    if entry["schemaType"] != "AVRO":
        found["schemaType"] = entry["schemaType"]
    if entry["references"]:
        found["references"] = entry["references"]
    return found
