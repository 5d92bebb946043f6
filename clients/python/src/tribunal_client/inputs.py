"""Inputs on their way out: checked, written as JSON one by one, and packed into requests."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from .errors import MalformedReply, RequestRefused
from .reading import verdicts
from .verdict import Verdict, unmeasured

Message = Mapping[str, str]
Content = str | Sequence[Message]
"""A text, or the turns of a conversation: `{"role": …, "content": …}`."""
Reference = str | int | float | Sequence[str | int | float] | Mapping[str, Any]
"""A gold answer, several accepted ones, or what a scorer defines. Numbers are sent as texts."""


class Input(TypedDict, total=False):
    """One thing to judge. A field that the scorer does not read makes its verdict `refused`."""

    id: str
    prompt: Content
    response: Content
    responses: Sequence[Content]
    reference: Reference
    context: Sequence[str]
    steps: Sequence[str]
    principles: Sequence[str]
    rubric: Mapping[str, Any]
    metadata: Mapping[str, Any]


class Options(TypedDict, total=False):
    """How to run a request."""

    explain: bool
    priority: Literal["interactive", "batch"]
    deadline_ms: int
    seed: int
    cache: Literal["use", "bypass", "refresh"]


FIELDS = frozenset(Input.__annotations__)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_PLACE = re.compile(r"^inputs\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Row:
    """An input, written."""

    at: int
    """Its place in the caller's list."""
    id: str
    json: bytes


Batch = Sequence[Row]
"""The rows of one request."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be asked, and what needs no asking."""

    known: dict[int, Verdict]
    """Verdicts on inputs that cannot be sent, by place."""
    batches: list[Batch]
    n_inputs: int

    def joined(self, done: int, batch: Batch, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """What comes after the first `done` verdicts, up to the end of the next batch."""
        asked = {row.at: verdict for row, verdict in zip(batch, verdicts, strict=True)}
        places = range(done, batch[-1].at + 1)
        return [asked[at] if at in asked else self.known[at] for at in places]

    def rest(self, done: int) -> list[Verdict]:
        """What comes after the last batch."""
        return [self.known[at] for at in range(done, self.n_inputs)]


def plan(inputs: Iterable[Mapping[str, Any]], batch_size: int, batch_bytes: int) -> Plan:
    """Packs inputs into requests, in order.

    Raises:
        TypeError: an input is not a mapping, or holds what JSON does not have.
        ValueError: an input has an unknown field, or a number that is not finite.
    """
    known: dict[int, Verdict] = {}
    rows: list[Row] = []
    n_inputs = 0
    for at, given in enumerate(inputs):
        row = _write(at, given)
        if isinstance(row, Row):
            rows.append(row)
        else:
            known[at] = row
        n_inputs += 1
    return Plan(known, _pack(rows, batch_size, batch_bytes), n_inputs)


def _pack(rows: Sequence[Row], batch_size: int, batch_bytes: int) -> list[Batch]:
    batches: list[Batch] = []
    begin = n_bytes = 0
    for at, row in enumerate(rows):
        full = at - begin == batch_size or n_bytes + len(row.json) > batch_bytes
        if full and at > begin:
            batches.append(rows[begin:at])
            begin, n_bytes = at, 0
        n_bytes += len(row.json) + 1
    if begin < len(rows):
        batches.append(rows[begin:])
    return batches


def _write(at: int, given: Mapping[str, Any]) -> Row | Verdict:
    if not isinstance(given, Mapping):
        raise TypeError(f"inputs[{at}]: {type(given).__name__} in the place of a mapping")
    unknown = [name for name in given if name not in FIELDS]
    if unknown:
        raise ValueError(f"inputs[{at}]: no field is called {unknown[0]!r}")
    fields = {name: _plain(value) for name, value in given.items() if value is not None}
    if "reference" in fields:
        fields["reference"] = reference(fields["reference"])
    name = fields.setdefault("id", str(at))
    try:
        written = _encode(fields).encode()
    except UnicodeEncodeError as error:
        # Half a surrogate pair is no text. It comes from broken decoding, and is this row's alone.
        why = f"inputs[{at}]: {error.reason}"
        return unmeasured(ascii(name)[1:-1], "refused", "not_unicode", why)
    except (TypeError, ValueError) as error:
        raise type(error)(f"inputs[{at}]: {error}") from error
    return Row(at, name, written)


def _plain(value: Any) -> Any:
    """Arrays and their scalars, which have `tolist`, as what JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else value


def reference(value: Any) -> Any:
    """A gold answer as the server takes it: numbers as texts, so that no digit is lost."""
    value = _plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isnan(value):
        return ""  # an empty cell of a table; its verdict is `bad_reference`
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [reference(one) for one in value]
    return value


def request(model: str, batch: Batch, options: Options | None) -> bytes:
    """The body of `POST /v1/score`."""
    head = json.dumps({"model": model, "options": dict(options or {})}).encode()
    return head[:-1] + b', "inputs": [' + b",".join(row.json for row in batch) + b"]}"


def answers(body: bytes, batch: Batch) -> list[Verdict]:
    """The verdicts of a reply, each of which has to name the input that it is about."""
    read = verdicts(body, len(batch))
    for row, verdict in zip(batch, read, strict=True):
        if verdict.id != row.id:
            raise MalformedReply(f"a result about {verdict.id!r} and not {row.id!r}")
    return list(read)


def too_large(row: Row, refusal: RequestRefused) -> Verdict:
    """The verdict on an input that no request can hold."""
    return unmeasured(row.id, "refused", refusal.code or "body_too_large", refusal.message)


def placed(refusal: RequestRefused, batch: Batch) -> RequestRefused:
    """A refusal whose place is one in the caller's list."""
    found = _PLACE.match(refusal.param or "")
    if found and int(found[1]) < len(batch):
        place = f"inputs[{batch[int(found[1])].at}]"
        refusal.param = place + (refusal.param or "")[found.end() :]
        refusal.message = refusal.message.replace(found[0], place, 1)
    return refusal
