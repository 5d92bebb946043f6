"""The Python of the documents, run as it is written against the real server."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tribunal_client.local import LocalServer

BINARY = os.environ.get("TRIBUNAL_BIN", "")
pytestmark = pytest.mark.skipif(not BINARY, reason="TRIBUNAL_BIN is not set")

PACKAGE = Path(__file__).parents[1]
DOCUMENTS = [PACKAGE / "README.md", PACKAGE.parents[1] / "docs" / "clients.md"]


def blocks() -> Iterator[str]:
    for path in DOCUMENTS:
        if path.exists():
            yield from re.findall(
                r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL
            )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with LocalServer(BINARY) as server:
        yield server.url


@pytest.mark.parametrize("code", list(blocks()))
def test_examples_run(code: str, url: str) -> None:
    for name in re.findall(r"^import (\w+)", code, re.MULTILINE):
        pytest.importorskip(name)
    code = code.replace("http://127.0.0.1:8080", url)
    exec(compile(code, "documents", "exec"), {"__name__": "documents"})  # noqa: S102
