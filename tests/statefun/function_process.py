"""HTTP server of functions of Flink's Python SDK, as the only thing that a process does."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from statefun import RequestReplyHandler, StatefulFunctions


class _Server(ThreadingHTTPServer):
    """Server whose clients may go away."""

    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Be silent."""


def serve(functions: StatefulFunctions, port: int = 0) -> None:
    """Serve functions on the loopback interface for ever, and print the port.

    Args:
        port: port to listen on; 0 for any.
    """
    serving = RequestReplyHandler(functions)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # a reply is one packet: its second would wait for an acknowledgement

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            reply = serving.handle_sync(content)
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Be silent."""

    server = _Server(("127.0.0.1", port), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
