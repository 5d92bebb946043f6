"""A server of the standard library that does what a test says, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What a request is answered with."""

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    """Seconds before it."""
    announced: int | None = None
    """Length that the header names, where it is another than the body's."""
    reset: bool = False
    """Whether the connection is reset instead."""


Asked = dict[str, Any]
Script = Callable[[int, Asked], Reply]
"""From the number of the request, counted from 0, and its body."""


def result(id: str, **fields: Any) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "status": "ok", "score": 1.0, "digests": {"scorer": "sha256:0"}, **fields}


def ok(results: list[dict[str, Any]]) -> Reply:
    return Reply(json.dumps({"results": results}).encode())


def echo(_: int, asked: Asked) -> Reply:
    """Scores that are the inputs' own references."""
    return ok([result(one["id"], score=float(one["reference"])) for one in asked["inputs"]])


def error(status: int, code: str, param: str | None = None, **headers: str) -> Reply:
    detail = {"type": "t", "code": code, "message": f"{param}: told", "param": param}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": detail}).encode(), status, named)


@dataclass
class Fake:
    url: str
    asked: list[Asked] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)
    most_at_once: int = 0


@contextmanager
def serving(script: Script) -> Iterator[Fake]:
    fake = Fake("")
    lock = threading.Lock()
    at_once = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            nonlocal at_once
            length = int(self.headers.get("content-length") or 0)
            asked = json.loads(self.rfile.read(length) or b"{}")
            with lock:
                number = len(fake.asked)
                fake.asked.append(asked)
                fake.headers.append({name.lower(): value for name, value in self.headers.items()})
                fake.connections.add(self.client_address)
                at_once += 1
                fake.most_at_once = max(fake.most_at_once, at_once)
            reply = script(number, asked)
            time.sleep(reply.after)
            with lock:
                at_once -= 1
            self.answer(reply)

        def answer(self, reply: Reply) -> None:
            if reply.reset:
                # No lingering: the peer sees a reset and not an end.
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
                self.close_connection = True
                return
            length = len(reply.body) if reply.announced is None else reply.announced
            self.send_response(reply.status)
            for name, value in {"content-length": str(length), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = length != len(reply.body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        # Clients of several threads connect at once.
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:
            """Connections break here on purpose."""

    server = Server(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def unused_url() -> str:
    """Where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}"
