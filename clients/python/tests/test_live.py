"""Against the real server, where `TRIBUNAL_BIN` names its program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tribunal_client import (
    AsyncTribunal,
    NotMeasured,
    RequestRefused,
    Retry,
    Tribunal,
    Unreachable,
)
from tribunal_client.local import LocalServer
from tribunal_client.pool import Pool

BINARY = os.environ.get("TRIBUNAL_BIN", "")
pytestmark = pytest.mark.skipif(not BINARY, reason="TRIBUNAL_BIN is not set")

CHAT = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n{}<|im_end|>\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with LocalServer(BINARY) as server:
        yield server.url


@pytest.fixture
def tribunal(url: str) -> Iterator[Tribunal]:
    with Tribunal(url) as client:
        yield client


def test_verdicts(tribunal: Tribunal) -> None:
    verdict = tribunal.score("math", "So \\boxed{1/2}.", "0.5", options={"explain": True})
    assert (verdict.status, verdict.score, verdict.label) == ("ok", 1.0, "equal")
    assert verdict.reason is not None
    assert verdict.reason.detail
    assert verdict.candidate is not None
    assert verdict.candidate.text == "1/2"
    assert verdict.candidate.span == (10, 13) or verdict.candidate.span[0] > 0
    assert (verdict.digests.scorer or "").startswith("sha256:")
    assert tribunal.score("math", "5", 4).score == 0.0
    missing = tribunal.score("math", "5")
    assert (missing.status, missing.score) == ("bad_reference", None)
    group = tribunal.score("math", responses=["4", "5"], reference="4")
    assert [one.score for one in group.candidates or ()] == [1.0, 0.0]
    steps = tribunal.score("arithmetic", "1 + 1 = 2\n2 + 2 = 5").steps or ()
    assert {step.label for step in steps} == {"right", "wrong"}
    echoed = tribunal.score("math", "4", "4", id="mine", metadata={"a": 1})
    assert (echoed.id, echoed.metadata) == ("mine", {"a": 1})


def test_many(url: str) -> None:
    rows = [{"response": str(at), "reference": at % 7} for at in range(1500)]
    expected = [float(at == at % 7) for at in range(1500)]
    with Tribunal(url, batch_size=100) as tribunal:
        assert [verdict.score for verdict in tribunal.iter_many("math", rows)] == expected

    async def later() -> list[float | None]:
        async with AsyncTribunal(url, batch_size=64) as tribunal:
            return [verdict.score async for verdict in tribunal.iter_many("math", rows)]

    assert asyncio.run(later()) == expected


HOSTILE: list[Any] = [
    "NaN",
    "",
    "\x00",
    "x" * 9_000_000,
    "\ud800",
    "\u202e",
    "10^10^10^10",
    "{" * 9999,
]


def test_hostile_responses_are_their_own_trouble(tribunal: Tribunal) -> None:
    rows = [{"response": "4", "reference": 4}]
    for text in HOSTILE:
        rows += [{"response": text, "reference": 4}, {"response": "4", "reference": 4}]
    verdicts = tribunal.score_many("math", rows)
    assert [verdict.score for verdict in verdicts[::2]] == [1.0] * (len(HOSTILE) + 1)
    for verdict in verdicts:
        assert verdict.ok == (verdict.score is not None)
        assert verdict.score in {None, 0.0, 1.0}


def test_refusals(tribunal: Tribunal) -> None:
    with pytest.raises(RequestRefused) as refused:
        tribunal.score("nobody", "4", "4")
    assert (refused.value.status, refused.value.code) == (404, "model_not_found")
    with pytest.raises(RequestRefused) as refused:
        tribunal.score_many("math", [{"response": "4"}, {"response": 4}])
    assert (refused.value.status, refused.value.param) == (422, "inputs[1].response")


def test_what_is_served(tribunal: Tribunal) -> None:
    assert tribunal.health().ready
    assert "math" in {served.id for served in tribunal.scorers()}
    assert tribunal.models()[0].max_inputs == 10_000


def test_rewards(tribunal: Tribunal) -> None:
    queries = [CHAT.format("\\boxed{4}"), CHAT.format("\\boxed{5}")]
    assert tribunal.rewards(queries, None, ["4", "4"], model="math").rewards == (1.0, 0.0)
    assert tribunal.rewards([], [], [], model="math").rewards == ()
    with pytest.raises(NotMeasured, match=r"bad_reference \(query\[1\]"):
        tribunal.rewards(queries, None, ["4", ""], model="math")


def test_keys(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("right-key-of-some-length\n")
    with LocalServer(BINARY, ["--api-keys-file", str(keys)]) as server:
        with Tribunal(server.url, api_key="wrong") as wrong, pytest.raises(RequestRefused) as no:
            wrong.score("math", "4", "4")
        assert no.value.status == 401
        with Tribunal(server.url, api_key="right-key-of-some-length") as right:
            assert right.score("math", "4", "4").score == 1.0


def test_more_than_a_client_may() -> None:
    """A bucket of a few requests a second: refusals are waited out, and nothing is lost."""
    with LocalServer(BINARY, ["--set", "limits.client_requests=5"]) as server:
        rows = [{"response": str(at), "reference": 3} for at in range(12)]
        with Tribunal(server.url, batch_size=1, concurrency=6) as tribunal:
            scores = [verdict.score for verdict in tribunal.score_many("math", rows)]
        assert scores == [float(at == 3) for at in range(12)]


def test_more_than_a_server_takes() -> None:
    with LocalServer(BINARY, ["--set", "limits.queue_requests=1"]) as server:
        rows = [{"response": "1 + " * at + "3", "reference": 3} for at in range(200)]
        with Tribunal(server.url, batch_size=4, concurrency=16) as tribunal:
            verdicts = tribunal.score_many("math", rows, options={"cache": "bypass"})
        assert {verdict.status for verdict in verdicts} == {"ok"}


def test_a_server_that_is_killed() -> None:
    rows = [{"response": str(at), "reference": 3} for at in range(400)]
    fast = Retry(tries=3, first_seconds=0.01, longest_seconds=0.05)
    with LocalServer(BINARY) as one, LocalServer(BINARY) as other:
        pool = Pool([one.url, other.url], batch_size=10, retry=fast)
        first = pool.score_many("math", rows)
        one.kill()
        second = pool.score_many("math", rows)
        assert [verdict.score for verdict in second] == [verdict.score for verdict in first]
        with Tribunal(one.url, retry=fast) as alone, pytest.raises(Unreachable):
            alone.score("math", "4", "4")


def test_a_server_that_does_not_start() -> None:
    with pytest.raises(Unreachable, match="ended with"):
        LocalServer(BINARY, ["--set", "no.such=1"])


def test_decisions(tmp_path: Path) -> None:
    import subprocess  # noqa: PLC0415 - this test alone

    made = [BINARY, "models", "make-tiny", "--family", "qwen2", str(tmp_path / "tiny")]
    subprocess.run(made, check=True, capture_output=True)
    with (
        LocalServer(BINARY, ["--model", f"judge={tmp_path / 'tiny'}"]) as server,
        Tribunal(server.url) as tribunal,
    ):
        asked = [{"type": "predicate", "name": "right", "instructions": "It is right."}]
        decision = tribunal.decide("judge", "2 + 2 = 4", asked)
        assert decision.answers[0].name == "right"
        assert 0.0 < (decision.answers[0].probability or 0.0) < 1.0
        assert {"judge"} <= {served.id for served in tribunal.models()}
        assert "judge" not in {served.id for served in tribunal.scorers()}
