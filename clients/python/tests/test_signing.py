from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fake import Reply, serving
from tribunal_client import MalformedReply, Tribunal, signing

pytest.importorskip("cryptography")

FOLDER = Path(__file__).parents[3] / "serve" / "tests" / "signing"
DOCUMENT = Path(__file__).parents[3] / "docs" / "signing.md"
KEYS = signing.PublicKeys.of(json.loads((FOLDER / "keys.json").read_text()))
ROWS = [json.loads(line) for line in (FOLDER / "signed.jsonl").read_text().splitlines()]
UNSIGNED = {"id", "reason", "candidate", "span", "index", "rank", "weight", "label_mass"}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of what is signed and is no list or object."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in UNSIGNED:
                yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path


def changed(value: Any) -> Any:
    match value:
        case None:
            return "other"
        case str():
            return value + "0"
        case _:
            return value + 0.25 if isinstance(value, float) else value + 1


@pytest.mark.parametrize("row", ROWS)
def test_signatures_are_valid_and_every_change_is_found(row: dict[str, Any]) -> None:
    KEYS.check(row["result"], input=row["input"])
    for path in leaves(row["result"]):
        result = copy.deepcopy(row["result"])
        *to, last = path
        holder: Any = result
        for step in to:
            holder = holder[step]
        holder[last] = changed(holder[last])
        with pytest.raises(signing.InvalidSignature):
            KEYS.check(result)


@pytest.mark.parametrize("row", ROWS)
def test_another_input_is_found(row: dict[str, Any]) -> None:
    for other in ({}, {**row["input"], "prompt": "another"}, {**row["input"], "rubric": {"a": 1}}):
        with pytest.raises(signing.InvalidSignature, match="input"):
            KEYS.check(row["result"], input=other)


def test_what_is_not_signed_may_change() -> None:
    result = {**ROWS[0]["result"], "id": "other", "cached": True, "metadata": {"a": 1}}
    KEYS.check(result, input={**ROWS[0]["input"], "id": "x", "metadata": {"b": 2}})


def test_unsigned_results_and_foreign_keys_are_invalid() -> None:
    with pytest.raises(signing.InvalidSignature, match="no signature"):
        KEYS.check({"status": "ok", "score": 1.0, "digests": {"scorer": "s"}})
    with pytest.raises(signing.InvalidSignature, match="not among"):
        signing.PublicKeys([]).check(ROWS[0]["result"])
    with pytest.raises(ValueError, match="no Ed25519 key"):
        signing.PublicKeys.of({"keys": [{"kty": "RSA", "crv": "", "x": ""}]})


@pytest.mark.parametrize(
    "keys",
    [None, 3, [None], [{}], *([{"kty": "OKP", "crv": "Ed25519", "x": x}] for x in (3, "", "é"))],
)
def test_strange_keys_of_a_server_are_a_malformed_reply(keys: object) -> None:
    body = json.dumps({"keys": keys}).encode()
    with (
        serving(lambda *_: Reply(body)) as fake,
        Tribunal(fake.url) as tribunal,
        pytest.raises(MalformedReply),
    ):
        tribunal.public_keys()


def test_the_example_of_the_document() -> None:
    text = DOCUMENT.read_text()
    given, result = (json.loads(part.split("```")[0]) for part in text.split("```json")[1:3])
    KEYS.check(result, input=given)
    written = "".join(text.split("```text")[1].split("```")[0].split())
    assert signing.message(result).hex() == written
