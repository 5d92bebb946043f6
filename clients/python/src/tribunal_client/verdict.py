"""What a server says of an input, as its OpenAPI document has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

OK = "ok"
"""The one status that carries a score."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is."""

    code: str
    """Stable, for programs."""
    detail: str | None = None
    """For people; on failures, and on all verdicts with `explain=True`."""

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


@dataclass(frozen=True, slots=True)
class Candidate:
    """The part of a response that was judged."""

    text: str
    span: tuple[int, int]
    """A Python slice of the response."""
    count: int
    source: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """The score of one step."""

    index: int
    span: tuple[int, int]
    label: str
    score: float | None = None
    """None where nothing in it could be checked."""
    raw: float | None = None
    critique: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a rubric or pipeline."""

    name: str
    weight: float
    status: str | None = None
    score: float | None = None
    raw: float | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One response of a group."""

    index: int
    status: str
    score: float | None = None
    normalised: float | None = None
    rank: int | None = None
    """1 for the best; equal scores share a rank."""
    raw: float | None = None
    label: str | None = None
    reason: Reason | None = None
    candidate: Candidate | None = None
    steps: tuple[Step, ...] | None = None
    parts: tuple[Part, ...] | None = None


@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 digests of what produced a verdict."""

    scorer: str | None = None
    model: str | None = None
    adapter: str | None = None
    prompt: str | None = None
    revisions: tuple[int, ...] | None = None
    """Oldest and newest revision of weights that were trained meanwhile."""


class VerdictRow(TypedDict):
    """A verdict as columns of a table."""

    score: float | None
    status: str
    reason: str | None
    label: str | None
    raw: float | None


NUMBERS = frozenset({"score", "raw"})
"""The columns of `VerdictRow` that hold numbers; the others hold texts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one input. `score` is a finite number if and only if `status` is `ok`."""

    id: str
    status: str
    """`ok`, or why there is no number: `abstain`, `refused`, `truncated`, `parse_error`,
    `tool_error`, `timeout`, `overloaded`, `bad_reference`, `internal_error`. This package adds
    `unreachable`, `server_error` and `malformed_reply` where a row was given to a pool of servers
    and none of them answered."""
    score: float | None = None
    raw: float | None = None
    """The unbounded logit or logit difference, where there is one."""
    label: str | None = None
    reason: Reason | None = None
    candidate: Candidate | None = None
    steps: tuple[Step, ...] | None = None
    parts: tuple[Part, ...] | None = None
    candidates: tuple[Ranked, ...] | None = None
    """One for each response of a group."""
    label_mass: float | None = None
    digests: Digests = field(default_factory=Digests)
    metadata: Json | None = None
    cached: bool = False
    details: Json = field(default_factory=dict, repr=False)
    """The whole result as the server wrote it, fields included that this package does not know."""

    def row(self) -> VerdictRow:
        """The verdict as one row of a table, whose columns are the same for every verdict."""
        return {
            "score": self.score,
            "status": self.status,
            "reason": str(self.reason) if self.reason else None,
            "label": self.label,
            "raw": self.raw,
        }

    @property
    def ok(self) -> bool:
        """Whether there is a score."""
        return self.status == OK


def unmeasured(id: str, status: str, code: str, detail: str) -> Verdict:  # noqa: A002
    """A verdict on what never got to a server, or came back from none. It has no number."""
    return Verdict(id=id, status=status, reason=Reason(code, detail))


def refuse_clash(names: Iterable[object], prefix: str) -> None:
    """Raises `ValueError` where a new column has the name of one that is there."""
    there = set(names)
    for name in VerdictRow.__annotations__:
        if prefix + name in there:
            raise ValueError(f"there is a column {prefix + name!r} already: give another prefix")


def columns(verdicts: Sequence[Verdict]) -> dict[str, list[Any]]:
    """The columns of `VerdictRow`, a value for each verdict."""
    rows = [verdict.row() for verdict in verdicts]
    return {name: [row[name] for row in rows] for name in VerdictRow.__annotations__}  # type: ignore[literal-required]
