"""Replies and failures of HTTP in this package's words; what the two clients have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict
from urllib.parse import urlsplit

import httpx

from .errors import (
    MalformedReply,
    Overloaded,
    RequestRefused,
    ServerFailed,
    TimedOut,
    TribunalError,
    Unreachable,
)
from .retry import Retry, retry_after

DEFAULT_URL = "http://127.0.0.1:8080"
AGENT = "tribunal-client/0.1.0"
QUOTED = 300
"""Characters of an unknown reply that an error repeats."""

TOO_MANY_REQUESTS = 429
UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Settings:
    """How a client asks."""

    url: str = DEFAULT_URL
    """Where the server listens, without a path of a route."""
    api_key: str | None = field(default=None, repr=False)
    """Sent as a bearer token: printable ASCII without spaces, as the server's keys are."""
    timeout: float = 120.0
    """Seconds to wait for a reply, once the request is sent."""
    connect_timeout: float = 10.0
    """Seconds to wait for a connection."""
    retry: Retry = field(default_factory=Retry)
    """What to do about a server that is full or gone."""
    batch_size: int = 256
    """Inputs in a request at most. The server takes 10,000."""
    batch_bytes: int = 4 << 20
    """Bytes of inputs in a request at most. An input that is larger goes alone."""
    concurrency: int = 4
    """Requests of one call that are under way at once, and connections that are kept."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"url: {self.url!r} is not the http:// or https:// URL of a server")
        for name in ("timeout", "connect_timeout", "batch_size", "batch_bytes", "concurrency"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: must be more than 0")
        if self.api_key is not None and not _is_key(self.api_key):
            # Without the key, which must not get into logs.
            raise ValueError("api_key: must be printable ASCII without spaces and line breaks")

    def of_httpx(self) -> dict[str, Any]:
        """What both of httpx's clients are made with."""
        headers = {"user-agent": AGENT, "content-type": "application/json"}
        if self.api_key is not None:
            headers["authorization"] = f"Bearer {self.api_key}"
        most = self.concurrency
        return {
            "base_url": self.url.rstrip("/"),
            "headers": headers,
            # Waiting for a free connection is this process's own queue, and has no end of its own.
            "timeout": httpx.Timeout(self.timeout, connect=self.connect_timeout, pool=None),
            "limits": httpx.Limits(max_connections=most, max_keepalive_connections=most),
        }


class Given(TypedDict, total=False):
    """`Settings` without the URL, as arguments."""

    api_key: str | None
    timeout: float
    connect_timeout: float
    retry: Retry
    batch_size: int
    batch_bytes: int
    concurrency: int


def _is_key(text: str) -> bool:
    """Whether a header can hold it, as a key that the server knows."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def json_body(asked: Mapping[str, Any]) -> bytes:
    """A body of JSON.

    Raises:
        ValueError: a number is not finite, or a text is no Unicode.
    """
    return json.dumps(asked, ensure_ascii=False, allow_nan=False).encode()


def lost(error: httpx.HTTPError) -> TribunalError:
    """A request that got no whole reply."""
    if isinstance(error, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
        # Every try would fail. The text is left out: it may repeat a header, and so the key.
        return TribunalError(f"the request cannot be sent: {type(error).__name__}")
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, (httpx.ReadTimeout, httpx.WriteTimeout)):
        return TimedOut(said)
    if isinstance(error, httpx.TransportError):
        return Unreachable(said)
    return MalformedReply(said)


def body_of(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    """The body of a success; every other reply is raised."""
    if httpx.codes.is_success(status):
        return body
    error = _told(body)
    message = str(error.get("message") or f"HTTP {status}")
    code = error.get("code")
    code = code if isinstance(code, str) else None
    if status in {TOO_MANY_REQUESTS, UNAVAILABLE}:
        raise Overloaded(message, status=status, retry_after=retry_after(headers))
    if httpx.codes.is_server_error(status):
        raise ServerFailed(f"{message} ({status})", status=status, code=code)
    param, kind = error.get("param"), error.get("type")
    raise RequestRefused(
        message,
        status=status,
        code=code,
        param=param if isinstance(param, str) else None,
        type=kind if isinstance(kind, str) else None,
    )


def _told(body: bytes) -> Mapping[str, Any]:
    """What an error's body says: `{"error": {…}}`, `{"detail": …}`, or something of a proxy's."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict):
        if isinstance(read.get("error"), dict):
            return dict(read["error"])
        if "detail" in read:
            return {"message": str(read["detail"])}
    return {"message": body.decode("utf-8", "replace")[:QUOTED].strip()}
