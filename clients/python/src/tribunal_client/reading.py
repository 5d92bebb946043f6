"""Replies of a server, checked on the way in.

A field that is absent is None; a field of the wrong kind is a `MalformedReply` with its place,
since a guess could turn into a reward.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import MalformedReply
from .verdict import OK, Candidate, Digests, Json, Part, Ranked, Reason, Step, Verdict

T = TypeVar("T")


def _strange(path: str, value: object, wanted: str) -> MalformedReply:
    return MalformedReply(f"{path}: {type(value).__name__} in the place of {wanted}")


def document(body: bytes) -> dict[str, Any]:
    """The JSON object of a reply."""

    def constant(name: str) -> float:
        raise MalformedReply(f"the reply has {name}, which is no JSON number")

    try:
        read = json.loads(body, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"the reply is not JSON: {error}") from error
    return mapping(read, "reply")


def mapping(value: object, path: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise _strange(path, value, "an object")
    return value


def items(value: object, path: str) -> list[Any]:
    """A JSON array."""
    if not isinstance(value, list):
        raise _strange(path, value, "a list")
    return value


def text(value: object, path: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise _strange(path, value, "a text")
    return value


def whole(value: object, path: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise _strange(path, value, "a whole number")
    return value


def number(value: object, path: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _strange(path, value, "a number")
    try:
        read = float(value)
    except OverflowError as error:
        raise MalformedReply(f"{path}: a number too large") from error
    if not math.isfinite(read):
        raise MalformedReply(f"{path}: {read} in the place of a finite number")
    return read


def optional(read: Callable[[object, str], T], holder: Json, name: str, path: str) -> T | None:
    """A field that may be null or absent."""
    value = holder.get(name)
    return None if value is None else read(value, f"{path}.{name}")


def _every(read: Callable[[object, str], T]) -> Callable[[object, str], tuple[T, ...]]:
    def all_of(value: object, path: str) -> tuple[T, ...]:
        return tuple(read(one, f"{path}[{at}]") for at, one in enumerate(items(value, path)))

    return all_of


def _span(value: object, path: str) -> tuple[int, int]:
    ends = _every(whole)(value, path)
    match ends:
        case (begin, end):
            return begin, end
        case _:
            raise MalformedReply(f"{path}: a span has two ends")


def _reason(value: object, path: str) -> Reason:
    read = mapping(value, path)
    return Reason(text(read.get("code"), f"{path}.code"), optional(text, read, "detail", path))


def _candidate(value: object, path: str) -> Candidate:
    read = mapping(value, path)
    return Candidate(
        text=text(read.get("text"), f"{path}.text"),
        span=_span(read.get("span"), f"{path}.span"),
        count=whole(read.get("count"), f"{path}.count"),
        source=text(read.get("source"), f"{path}.source"),
        flags=optional(_every(text), read, "flags", path) or (),
    )


def _step(value: object, path: str) -> Step:
    read = mapping(value, path)
    return Step(
        index=whole(read.get("index"), f"{path}.index"),
        span=_span(read.get("span"), f"{path}.span"),
        label=text(read.get("label"), f"{path}.label"),
        score=optional(number, read, "score", path),
        raw=optional(number, read, "raw", path),
        critique=optional(text, read, "critique", path),
    )


def _part(value: object, path: str) -> Part:
    read = mapping(value, path)
    return Part(
        name=text(read.get("name"), f"{path}.name"),
        weight=number(read.get("weight"), f"{path}.weight"),
        status=optional(text, read, "status", path),
        score=optional(number, read, "score", path),
        raw=optional(number, read, "raw", path),
        reason=optional(_reason, read, "reason", path),
    )


def _measured(read: Json, path: str) -> tuple[str, float | None]:
    """Status and score, of which neither may gainsay the other."""
    status = text(read.get("status"), f"{path}.status")
    score = optional(number, read, "score", path)
    if (status == OK) != (score is not None):
        raise MalformedReply(f"{path}: status {status!r} with score {score!r}")
    return status, score


def _ranked(value: object, path: str) -> Ranked:
    read = mapping(value, path)
    status, score = _measured(read, path)
    return Ranked(
        index=whole(read.get("index"), f"{path}.index"),
        status=status,
        score=score,
        normalised=optional(number, read, "normalised", path),
        rank=optional(whole, read, "rank", path),
        raw=optional(number, read, "raw", path),
        label=optional(text, read, "label", path),
        reason=optional(_reason, read, "reason", path),
        candidate=optional(_candidate, read, "candidate", path),
        steps=optional(_every(_step), read, "steps", path),
        parts=optional(_every(_part), read, "parts", path),
    )


def _digests(value: object, path: str) -> Digests:
    read = mapping(value, path)
    return Digests(
        scorer=optional(text, read, "scorer", path),
        model=optional(text, read, "model", path),
        adapter=optional(text, read, "adapter", path),
        prompt=optional(text, read, "prompt", path),
        revisions=optional(_every(whole), read, "revisions", path),
    )


def verdict(value: object, path: str) -> Verdict:
    """A result of `POST /v1/score`."""
    read = mapping(value, path)
    status, score = _measured(read, path)
    return Verdict(
        id=text(read.get("id"), f"{path}.id"),
        status=status,
        score=score,
        raw=optional(number, read, "raw", path),
        label=optional(text, read, "label", path),
        reason=optional(_reason, read, "reason", path),
        candidate=optional(_candidate, read, "candidate", path),
        steps=optional(_every(_step), read, "steps", path),
        parts=optional(_every(_part), read, "parts", path),
        candidates=optional(_every(_ranked), read, "candidates", path),
        label_mass=optional(number, read, "label_mass", path),
        digests=optional(_digests, read, "digests", path) or Digests(),
        metadata=optional(mapping, read, "metadata", path),
        cached=bool(read.get("cached")),
        details=read,
    )


def verdicts(body: bytes, expected: int) -> list[Verdict]:
    """The results of a reply, as many as were asked for."""
    results = items(document(body).get("results"), "results")
    if len(results) != expected:
        raise MalformedReply(f"{len(results)} results for {expected} inputs")
    return [verdict(one, f"results[{at}]") for at, one in enumerate(results)]
