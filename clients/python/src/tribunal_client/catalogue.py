"""What a server serves, and how it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import reading
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
    """`ready`, `draining` or `failed`."""
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


def _served(value: object, path: str) -> Served:
    read = reading.mapping(value, path)
    limits = reading.mapping(read.get("limits"), f"{path}.limits")
    digests = reading.mapping(read.get("digests"), f"{path}.digests")
    return Served(
        id=reading.text(read.get("id"), f"{path}.id"),
        kind=reading.text(read.get("kind"), f"{path}.kind"),
        description=reading.text(read.get("description"), f"{path}.description"),
        digests=Digests(
            scorer=reading.optional(reading.text, digests, "scorer", path),
            model=reading.optional(reading.text, digests, "model", path),
            adapter=reading.optional(reading.text, digests, "adapter", path),
        ),
        max_inputs=reading.whole(limits.get("inputs"), f"{path}.limits.inputs"),
        max_body_bytes=reading.whole(limits.get("body_bytes"), f"{path}.limits.body_bytes"),
        context_tokens=reading.optional(reading.whole, read, "context_tokens", path),
        parameters=reading.optional(reading.whole, read, "parameters", path),
        parent=reading.optional(reading.text, read, "parent", path),
        details=read,
    )


def models(body: bytes) -> list[Served]:
    """A reply of `GET /v1/models`."""
    data = reading.items(reading.document(body).get("data"), "data")
    return [_served(one, f"data[{at}]") for at, one in enumerate(data)]


def scorers(served: list[Served]) -> list[Served]:
    """Those that give verdicts, and no texts."""
    return [one for one in served if one.kind not in MODEL_KINDS]


def health(body: bytes) -> Health:
    """A reply of `GET /readyz`, whatever its status."""
    read = reading.document(body)
    return Health(
        status=reading.text(read.get("status"), "status"),
        scorers=reading.whole(read.get("scorers"), "scorers"),
        models=reading.whole(read.get("models"), "models"),
    )


def _answer(value: object, path: str) -> Answer:
    read = reading.mapping(value, path)
    return Answer(
        type=reading.text(read.get("type"), f"{path}.type"),
        name=reading.optional(reading.text, read, "name", path),
        probability=reading.optional(reading.number, read, "probability", path),
        choice=read.get("choice"),
        score=reading.optional(reading.number, read, "score", path),
        confidence=reading.optional(reading.number, read, "confidence", path),
        probabilities=_probabilities(read.get("probabilities") or [], f"{path}.probabilities"),
        details=read,
    )


def _probabilities(value: object, path: str) -> tuple[tuple[Any, float], ...]:
    pairs = []
    for at, one in enumerate(reading.items(value, path)):
        read = reading.mapping(one, f"{path}[{at}]")
        probability = reading.number(read.get("probability"), f"{path}[{at}].probability")
        pairs.append((read.get("value"), probability))
    return tuple(pairs)


def decision(body: bytes) -> Decision:
    """A reply of `POST /v1/decisions` in OpenAI's shape."""
    read = reading.document(body)
    answers = reading.items(read.get("answers"), "answers")
    return Decision(
        model=reading.text(read.get("model"), "model"),
        answers=tuple(_answer(one, f"answers[{at}]") for at, one in enumerate(answers)),
        details=read,
    )
