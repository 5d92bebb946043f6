"""`POST /get_reward`: rendered texts in, numbers out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote

from . import reading
from .errors import MalformedReply, NotMeasured, RequestRefused
from .http import json_body

# How the server says that a sample has a status and no number: `query[1]: bad_reference: …`.
_UNMEASURED = re.compile(
    r"(query\[\d+\]): (abstain|refused|bad_reference|truncated|parse_error): (.*)", re.DOTALL
)


def request(
    queries: Sequence[str],
    prompts: Sequence[str] | None,
    labels: Sequence[str] | None,
    model: str | None,
) -> tuple[str, bytes]:
    """Path and body."""
    path = "/get_reward" if model is None else f"/get_reward?model={quote(model, safe='')}"
    asked = {"query": list(queries)}
    if prompts is not None:
        asked["prompts"] = list(prompts)
    if labels is not None:
        asked["labels"] = list(labels)
    return path, json_body(asked)


@contextmanager
def unmeasured() -> Iterator[None]:
    """Tells a sample without a number from a request that is wrong."""
    try:
        yield
    except RequestRefused as refusal:
        found = _UNMEASURED.match(refusal.message)
        if found is None:
            raise
        raise NotMeasured(found[2], f"{found[1]}: {found[3]}") from refusal


def rewards(body: bytes, expected: int) -> list[float]:
    """One number for each query."""
    read = reading.items(reading.document(body).get("rewards"), "rewards")
    if len(read) != expected:
        raise MalformedReply(f"{len(read)} rewards for {expected} queries")
    return [reading.number(one, f"rewards[{at}]") for at, one in enumerate(read)]
