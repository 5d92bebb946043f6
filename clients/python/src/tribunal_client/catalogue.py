"""What a server serves, and how it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import reading
from .errors import MalformedReply
from .reading import every, number, optional, required, text, whole
from .signing import PublicKeys
from .verdict import Digests, Json

MODEL_KINDS = frozenset({"model", "adapter"})


@dataclass(frozen=True, slots=True)
class Served:
    """A scorer, a model or an adapter."""

    id: str
    """The name to ask it by."""
    kind: str
    """The scorer's kind, such as `math`; `model` or `adapter`."""
    description: str
    digests: Digests
    max_inputs: int
    """Inputs in a request at most."""
    max_body_bytes: int
    context_tokens: int | None = None
    parameters: int | None = None
    parent: str | None = None
    """The model that an adapter belongs to."""
    details: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a server takes work."""

    status: str
    """`ready`, `loading`, `overloaded`, `draining` or `failed`."""
    scorers: int
    models: int

    @property
    def ready(self) -> bool:
        """Whether it takes work."""
        return self.status == "ready"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a typed question; which fields it has depends on `type`."""

    type: str
    """`predicate`, `choice` or `score`."""
    name: str | None = None
    probability: float | None = None
    """Of a predicate."""
    choice: str | bool | int | float | None = None
    """Of a choice: the likeliest."""
    score: float | None = None
    """Of a score: the expected level, from 0."""
    confidence: float | None = None
    probabilities: tuple[tuple[Any, float], ...] = ()
    """Value and probability, in the order of the question."""
    details: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """The answers to the questions of a request, in order."""

    model: str
    answers: tuple[Answer, ...]
    details: Json = field(default_factory=dict, repr=False)


def _served(value: object) -> Served:
    read = reading.mapping(value)
    limits = required(reading.mapping, read, "limits")
    return Served(
        id=required(text, read, "id"),
        kind=required(text, read, "kind"),
        description=required(text, read, "description"),
        digests=required(reading.digests, read, "digests"),
        max_inputs=required(whole, limits, "inputs"),
        max_body_bytes=required(whole, limits, "body_bytes"),
        context_tokens=optional(whole, read, "context_tokens"),
        parameters=optional(whole, read, "parameters"),
        parent=optional(text, read, "parent"),
        details=read,
    )


def models(body: bytes) -> list[Served]:
    """A reply of `GET /v1/models`."""
    return list(required(every(_served), reading.document(body), "data"))


def scorers(served: list[Served]) -> list[Served]:
    """Those that give verdicts, and no texts."""
    return [one for one in served if one.kind not in MODEL_KINDS]


def health(body: bytes) -> Health:
    """A reply of `GET /readyz`, whatever its status."""
    read = reading.document(body)
    return Health(
        status=required(text, read, "status"),
        scorers=required(whole, read, "scorers"),
        models=required(whole, read, "models"),
    )


def public_keys(body: bytes) -> PublicKeys:
    """A reply of `GET /v1/keys`."""
    read = reading.document(body)
    try:
        return PublicKeys.of(read)
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedReply(f"not a JWK set of Ed25519: {error}") from error


def _probability(value: object) -> tuple[Any, float]:
    read = reading.mapping(value)
    return read.get("value"), required(number, read, "probability")


def _answer(value: object) -> Answer:
    read = reading.mapping(value)
    return Answer(
        type=required(text, read, "type"),
        name=optional(text, read, "name"),
        probability=optional(number, read, "probability"),
        choice=read.get("choice"),
        score=optional(number, read, "score"),
        confidence=optional(number, read, "confidence"),
        probabilities=optional(every(_probability), read, "probabilities") or (),
        details=read,
    )


def decision(body: bytes) -> Decision:
    """A reply of `POST /v1/decisions` in OpenAI's shape."""
    read = reading.document(body)
    answers = required(every(_answer), read, "answers")
    return Decision(model=required(text, read, "model"), answers=answers, details=read)
