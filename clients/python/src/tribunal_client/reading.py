"""Replies of a server, checked on the way in.

A field that is absent is None; a field of the wrong kind is a `MalformedReply` with its place,
since a guess could turn into a reward. Places are put together only where something is wrong: most
of the time of a large call is spent in here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import MalformedReply
from .verdict import OK, Candidate, Digests, Json, Part, Ranked, Reason, Step, Verdict

T = TypeVar("T")
Read = Callable[[Any], T]
"""Takes what JSON has for what it has to be."""


def _strange(value: object, wanted: str) -> MalformedReply:
    return MalformedReply(f"{type(value).__name__} in the place of {wanted}")


def _constant(name: str) -> float:
    raise MalformedReply(f"{name}, which is no JSON number")


_decode = json.JSONDecoder(parse_constant=_constant).decode


def document(body: bytes) -> dict[str, Any]:
    """The JSON object of a reply."""
    try:
        read = _decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"not JSON: {error}") from error
    return mapping(read)


def mapping(value: object) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise _strange(value, "an object")
    return value


def items(value: object) -> list[Any]:
    """A JSON array."""
    if not isinstance(value, list):
        raise _strange(value, "a list")
    return value


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise _strange(value, "a text")
    return value


def whole(value: object) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise _strange(value, "a whole number")
    return value


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _strange(value, "a number")
    try:
        read = float(value)
    except OverflowError as error:
        raise MalformedReply("a number that is too large") from error
    if not math.isfinite(read):
        raise MalformedReply(f"{read} in the place of a finite number")
    return read


def optional(read: Read[T], holder: Json, name: str) -> T | None:
    """A field that may be null or absent."""
    value = holder.get(name)
    if value is None:
        return None
    try:
        return read(value)
    except MalformedReply as error:
        raise error.within(name) from None


def required(read: Read[T], holder: Json, name: str) -> T:
    """A field that has to be there."""
    try:
        return read(holder.get(name))
    except MalformedReply as error:
        raise error.within(name) from None


def every(read: Read[T]) -> Read[tuple[T, ...]]:
    """A list of them."""

    def all_of(value: object) -> tuple[T, ...]:
        done: list[T] = []
        try:
            for one in items(value):
                done.append(read(one))  # noqa: PERF401 - its length is the place of an error
        except MalformedReply as error:
            raise error.within(f"[{len(done)}]" if isinstance(value, list) else "") from None
        return tuple(done)

    return all_of


texts = every(text)
wholes = every(whole)


def _span(value: object) -> tuple[int, int]:
    match wholes(value):
        case (begin, end):
            return begin, end
        case _:
            raise MalformedReply("a span has two ends")


def _reason(value: object) -> Reason:
    read = mapping(value)
    return Reason(required(text, read, "code"), optional(text, read, "detail"))


def _candidate(value: object) -> Candidate:
    read = mapping(value)
    return Candidate(
        text=required(text, read, "text"),
        span=required(_span, read, "span"),
        count=required(whole, read, "count"),
        source=required(text, read, "source"),
        flags=optional(texts, read, "flags") or (),
    )


def _step(value: object) -> Step:
    read = mapping(value)
    return Step(
        index=required(whole, read, "index"),
        span=required(_span, read, "span"),
        label=required(text, read, "label"),
        score=optional(number, read, "score"),
        raw=optional(number, read, "raw"),
        critique=optional(text, read, "critique"),
    )


def _part(value: object) -> Part:
    read = mapping(value)
    return Part(
        name=required(text, read, "name"),
        weight=required(number, read, "weight"),
        status=optional(text, read, "status"),
        score=optional(number, read, "score"),
        raw=optional(number, read, "raw"),
        reason=optional(_reason, read, "reason"),
    )


steps = every(_step)
parts = every(_part)


def _measured(read: Json) -> tuple[str, float | None]:
    """Status and score, of which neither may gainsay the other."""
    status = required(text, read, "status")
    score = optional(number, read, "score")
    if (status == OK) != (score is not None):
        raise MalformedReply(f"status {status!r} with score {score!r}")
    return status, score


def _ranked(value: object) -> Ranked:
    read = mapping(value)
    status, score = _measured(read)
    return Ranked(
        index=required(whole, read, "index"),
        status=status,
        score=score,
        normalised=optional(number, read, "normalised"),
        rank=optional(whole, read, "rank"),
        raw=optional(number, read, "raw"),
        label=optional(text, read, "label"),
        reason=optional(_reason, read, "reason"),
        candidate=optional(_candidate, read, "candidate"),
        steps=optional(steps, read, "steps"),
        parts=optional(parts, read, "parts"),
    )


ranks = every(_ranked)


def digests(value: object) -> Digests:
    """Digests of a verdict, or of what would give one."""
    read = mapping(value)
    return Digests(
        scorer=optional(text, read, "scorer"),
        model=optional(text, read, "model"),
        adapter=optional(text, read, "adapter"),
        prompt=optional(text, read, "prompt"),
        revisions=optional(wholes, read, "revisions"),
    )


def _verdict(value: object) -> Verdict:
    read = mapping(value)
    status, score = _measured(read)
    return Verdict(
        id=required(text, read, "id"),
        status=status,
        score=score,
        raw=optional(number, read, "raw"),
        label=optional(text, read, "label"),
        reason=optional(_reason, read, "reason"),
        candidate=optional(_candidate, read, "candidate"),
        steps=optional(steps, read, "steps"),
        parts=optional(parts, read, "parts"),
        candidates=optional(ranks, read, "candidates"),
        label_mass=optional(number, read, "label_mass"),
        digests=optional(digests, read, "digests") or Digests(),
        metadata=optional(mapping, read, "metadata"),
        cached=bool(read.get("cached")),
        details=read,
    )


_verdicts = every(_verdict)


def verdicts(body: bytes, expected: int) -> tuple[Verdict, ...]:
    """The results of a reply to `POST /v1/score`, as many as were asked for."""
    results = required(_verdicts, document(body), "results")
    if len(results) != expected:
        raise MalformedReply(f"{len(results)} results for {expected} inputs")
    return results
