"""Checks that the server's port is free, or that the server listens on it."""

from __future__ import annotations

import http.client
import json
import socket
import ssl

from millrace.cli.doctor.diagnosis import Diagnosis, ok, warning

CHECK = "server's port"
PORT = 8081
_PATIENCE = 2.0


def check_port(host: str, port: int) -> Diagnosis:
    """Judge a port by listening on it."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            return _taken(host, port, error)
    return ok(CHECK, f"{host}:{port} is free")


def _taken(host: str, port: int, error: OSError) -> Diagnosis:
    if _is_ours(host, port):
        return ok(CHECK, f"a server of Millrace answers on {host}:{port}")
    return warning(
        CHECK,
        f"{host}:{port}: {error.strerror or error}",
        "Give 'millrace server' another --port, or end the program that listens there ('ss "
        "-ltnp').",
    )


def _is_ours(host: str, port: int) -> bool:
    # whoever has TLS is not asked for a secret, so nobody's certificate is checked
    unchecked = ssl._create_unverified_context()
    return any(
        _answers_health(connection)
        for connection in (
            http.client.HTTPConnection(host, port, timeout=_PATIENCE),
            http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=unchecked),
        )
    )


def _answers_health(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/health")
        answer = json.loads(connection.getresponse().read(10_000))
        return isinstance(answer, dict) and "leader" in answer
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
