"""Writes keys.json and signed.jsonl anew: results signed by Python's `cryptography`.

    PYTHONPATH=clients/python/src python serve/tests/signing/make.py

The key is test 1 of RFC 8032, section 7.1, and appendix A of RFC 8037, which has its thumbprint.
"""

import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tribunal_client import signing

SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
KEY = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SEED))
PUBLIC = KEY.public_key().public_bytes_raw()
FOLDER = Path(__file__).parent


def signed(given: dict, result: dict, created: int) -> str:
    """A line with an input and its signed result."""
    kid, digest = signing.thumbprint(PUBLIC), signing.input_digest(given)
    result["signature"] = {"kid": kid, "created": created, "input": digest, "value": ""}
    result["signature"]["value"] = signing._encoded(KEY.sign(signing.message(result)))
    return json.dumps({"input": given, "result": result}, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes both files."""
    jwk = {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": signing._encoded(PUBLIC),
        "kid": signing.thumbprint(PUBLIC),
        "alg": "EdDSA",
        "use": "sig",
    }
    (FOLDER / "keys.json").write_text(json.dumps({"keys": [jwk]}, indent=1) + "\n")
    rows = [json.loads(line) for line in (FOLDER / "signed.jsonl").read_text().splitlines()]
    lines = [
        signed(row["input"], row["result"], row["result"]["signature"]["created"]) for row in rows
    ]
    (FOLDER / "signed.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    main()
