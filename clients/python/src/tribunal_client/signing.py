"""Checks signed verdicts: docs/signing.md defines what is signed.

    with Tribunal(url) as tribunal:
        keys = tribunal.public_keys()
        verdict = tribunal.score("math", "It is 4.", "4")
    keys.check(verdict.details, input={"response": "It is 4.", "reference": "4"})

It needs the package `cryptography` (`pip install tribunal-client[signing]`). Results are mappings:
`Verdict.details`, an entry of `scores` in a scored row, or JSON that was read with `json.loads`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from . import inputs
from .verdict import OK, Json

T = TypeVar("T")

_VERDICT = "tribunal-verdict-v1"
_INPUT = "tribunal-input-v1"
_ABSENT = b"\xff\xff\xff\xff"
_KEY_BYTES = 32
_MALFORMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError, struct.error)
"""What comes of a result whose fields are of other kinds."""


class InvalidSignature(Exception):
    """The signature proves nothing; the message says why."""


class PublicKeys:
    """Public Ed25519 keys by their ids."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = {thumbprint(key): key for key in keys}

    @classmethod
    def of(cls, jwks: Json) -> PublicKeys:
        """The keys of a JWK set, as `GET /v1/keys` gives it.

        Raises:
            ValueError: a key is not one of Ed25519.
        """
        return cls(_key(jwk) for jwk in jwks["keys"])

    def check(self, result: Json, input: Json | None = None) -> None:  # noqa: A002
        """Checks that one of the keys has signed a result, and that it is one of `input`, if given.

        Raises:
            InvalidSignature: it is not, and why.
        """
        from cryptography import exceptions  # noqa: PLC0415 - an optional package
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

        signature = result.get("signature")
        if not isinstance(signature, Mapping):
            raise InvalidSignature("there is no signature")
        key = self._keys.get(signature.get("kid", ""))
        if key is None:
            raise InvalidSignature(f"the key {signature.get('kid')!r} is not among the given ones")
        try:
            for one in (result, *(result.get("candidates") or ())):
                if (one["status"] == OK) != (one.get("score") is not None):
                    raise InvalidSignature("a score must be there exactly when the status is ok")
            value = _decoded(signature["value"])
            ed25519.Ed25519PublicKey.from_public_bytes(key).verify(value, message(result))
        except (exceptions.InvalidSignature, *_MALFORMED) as error:
            raise InvalidSignature("the signature is not of this result") from error
        if input is not None and signature["input"] != input_digest(input):
            raise InvalidSignature("the input is not the one that was scored")


def thumbprint(key: bytes) -> str:
    """The id of a key: its thumbprint by RFC 7638."""
    members = {"crv": "Ed25519", "kty": "OKP", "x": _encoded(key)}
    return _encoded(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())


def message(result: Json) -> bytes:
    """The bytes that the signature of a result is over."""
    signature, digests = result["signature"], result["digests"]
    revisions = digests.get("revisions")
    return b"".join(
        [
            _text(_VERDICT),
            _text(signature["kid"]),
            _text(str(signature["created"])),
            _text(signature["input"]),
            _text(digests["scorer"]),
            *(_text(digests.get(name)) for name in ("model", "adapter", "prompt")),
            _text(None if revisions is None else ",".join(map(str, revisions))),
            _outcome(result),
            _list(_outcome, result.get("candidates")),
        ]
    )


def input_digest(given: Json) -> str:
    """The digest of an input of `POST /v1/score`: all of it but `id` and `metadata`."""
    reference = given.get("reference")
    written = b"".join(
        [
            _text(_INPUT),
            _content(given.get("prompt")),
            _content(given.get("response")),
            _list(_content, given.get("responses")),
            _json(None if reference is None else inputs.reference(reference)),
            *(_list(_text, given.get(name)) for name in ("steps", "principles", "context")),
            _json(given.get("rubric")),
        ]
    )
    return "sha256:" + hashlib.sha256(written).hexdigest()


def _outcome(one: Json) -> bytes:
    return b"".join(
        [
            _text(one["status"]),
            _values(one),
            _list(_values, one.get("steps")),
            _list(_part, one.get("parts")),
        ]
    )


def _part(part: Json) -> bytes:
    return _text(part["name"]) + _text(part.get("status")) + _values({**part, "label": None})


def _values(one: Json) -> bytes:
    return _number(one.get("score")) + _number(one.get("raw")) + _text(one.get("label"))


def _content(content: inputs.Content | None) -> bytes:
    if content is None or isinstance(content, str):
        return _json(content)
    return b"m" + _list(lambda turn: _text(turn["role"]) + _text(turn["content"]), content)


def _json(value: Any) -> bytes:
    match value:
        case None:
            return b"-"
        case bool():
            return b"1" if value else b"0"
        case int() | float():
            return b"n" + _number(value)
        case str():
            return b"t" + _text(value)
        case Mapping():
            pairs = (_text(name) + _json(inner) for name, inner in value.items())
            return b"o" + struct.pack(">I", len(value)) + b"".join(pairs)
        case _:
            return b"l" + _list(_json, value)


def _list(write: Callable[[T], bytes], items: Iterable[T] | None) -> bytes:
    if items is None:
        return _ABSENT
    written = [write(item) for item in items]
    return struct.pack(">I", len(written)) + b"".join(written)


def _text(text: str | None) -> bytes:
    return _field(None if text is None else text.encode())


def _number(number: float | None) -> bytes:
    if number is not None and not math.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return _field(None if number is None else struct.pack(">d", number))


def _field(field: bytes | None) -> bytes:
    return _ABSENT if field is None else struct.pack(">I", len(field)) + field


def _key(jwk: Json) -> bytes:
    key = _decoded(jwk["x"]) if (jwk["kty"], jwk["crv"]) == ("OKP", "Ed25519") else b""
    if len(key) != _KEY_BYTES:
        raise ValueError(f"no Ed25519 key: {jwk!r}")
    return key


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _encoded(written: bytes) -> str:
    return base64.urlsafe_b64encode(written).rstrip(b"=").decode()
