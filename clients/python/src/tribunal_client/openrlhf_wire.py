"""`POST /get_reward`: rendered texts in, numbers out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from . import reading
from .errors import MalformedReply, NotMeasured, RequestRefused
from .http import json_body
from .inputs import reference

# How the server says that a sample has a status and no number: `query[1]: bad_reference: …`.
_UNMEASURED = re.compile(
    r"(query\[\d+\]): (abstain|refused|bad_reference|truncated|parse_error): (.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Rewards:
    """What the samples have earned, in their order."""

    rewards: tuple[float, ...]
    """Scores of a scorer, logits of a reward model."""
    scores: tuple[float, ...]
    """Scores of a scorer, logistic values of a reward model."""

    @classmethod
    def all(cls, number: float, n_samples: int) -> Rewards:
        """The same number for each."""
        return cls((number,) * n_samples, (number,) * n_samples)


def request(
    queries: Sequence[str],
    prompts: Sequence[str] | None,
    labels: Sequence[Any] | None,
    model: str | None,
) -> tuple[str, bytes]:
    """Path and body."""
    path = "/get_reward" if model is None else f"/get_reward?model={quote(model, safe='')}"
    asked: dict[str, Any] = {"query": list(queries)}
    if prompts is not None:
        asked["prompts"] = list(prompts)
    if labels is not None:
        asked["labels"] = [reference(label) for label in labels]
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


def rewards(body: bytes, expected: int) -> Rewards:
    """One number for each query."""
    read = reading.document(body)
    found = [reading.required(_numbers, read, name) for name in ("rewards", "scores")]
    for numbers in found:
        if len(numbers) != expected:
            raise MalformedReply(f"{len(numbers)} rewards for {expected} queries")
    return Rewards(*found)


_numbers = reading.every(reading.number)
