"""What trainers call, as they call it; none of them is needed."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fake import Asked, Reply, Script, error, ok, result, serving, unused_url
from tribunal_client import (
    NotMeasured,
    Overloaded,
    RequestRefused,
    Retry,
    Settings,
    Tribunal,
    Unreachable,
    environment,
    shared,
)
from tribunal_client.openrlhf import reward_func
from tribunal_client.trl import TribunalReward
from tribunal_client.verl import compute_score, compute_score_sync

FAST = Retry(tries=3, total_seconds=2.0, first_seconds=0.01, longest_seconds=0.02)


def some_fail(_: int, asked: Asked) -> Reply:
    """References that are no numbers cannot be measured."""
    results = []
    for one in asked["inputs"]:
        gold = one.get("reference", "")
        if gold.isdigit():
            results.append(result(one["id"], score=float(gold), label="equal"))
        else:
            reason = {"code": "reference_missing", "detail": "none"}
            results.append(result(one["id"], status="bad_reference", score=None, reason=reason))
    return ok(results)


def test_trl_texts() -> None:
    with serving(some_fail) as fake:
        reward = TribunalReward("math", fake.url)
        given = reward(["p"] * 3, ["a", "b", "c"], answer=[1, "?", "3"], trainer_state=object())
        assert given == [1.0, None, 3.0]
        assert reward.statuses == {"ok": 2, "bad_reference": 1}
        assert fake.asked[0]["inputs"][0]["prompt"] == "p"
        assert reward.__name__ == "tribunal_math"


def test_trl_conversations() -> None:
    prompt = [{"role": "user", "content": [{"type": "text", "text": "2 + 2?"}]}]
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    completion: list[dict[str, Any]] = [
        called,
        {"role": "assistant", "content": "4", "reasoning_content": "…"},
    ]
    with serving(some_fail) as fake:
        reward = TribunalReward("math", fake.url, gold="key", name="right")
        assert reward(prompts=[prompt], completions=[completion], key=["4"]) == [4.0]
        sent = fake.asked[0]["inputs"][0]
    assert sent["prompt"] == [{"role": "user", "content": "2 + 2?"}]
    assert sent["response"] == [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "4"},
    ]
    assert reward.__name__ == "right"


@pytest.mark.parametrize(
    "wrong",
    [
        {"completions": ["a"], "other": ["1"]},
        {"completions": ["a"], "key": ["1", "2"]},
        {"completions": [[{"role": "assistant", "content": [{"type": "image"}]}]], "key": ["1"]},
    ],
)
def test_trl_mistakes_are_told(wrong: dict[str, Any]) -> None:
    with serving(some_fail) as fake:
        reward = TribunalReward("math", fake.url, gold="key")
        with pytest.raises(ValueError, match=r"column|part of type"):
            reward(prompts=["p"], **wrong)
        assert fake.asked == []


def test_trl_needs_no_gold_answer_and_no_prompt() -> None:
    with serving(lambda _, asked: ok([result("0", score=-2.5)])) as fake:
        reward = TribunalReward("rm", fake.url, with_prompt=False)
        assert reward(["p"], ["a"], completion_ids=[[1]]) == [-2.5]
        assert fake.asked[0]["inputs"] == [{"response": "a", "id": "0"}]
        assert reward([], []) == []


def test_trl_pickled() -> None:
    with serving(some_fail) as fake:
        reward = TribunalReward("math", fake.url, options={"explain": True})
        assert reward(["p"], ["a"], answer=["1"]) == [1.0]
        again = pickle.loads(pickle.dumps(reward))  # noqa: S301
        assert again(["p"], ["a"], answer=["1"]) == [1.0]
        assert again.__name__ == reward.__name__
        assert fake.asked[0] == fake.asked[1]


def test_trl_lost_server() -> None:
    url = unused_url()
    with pytest.raises(Unreachable):
        TribunalReward("math", url, retry=FAST)(["p"], ["a"], answer=["1"])
    lenient = TribunalReward("math", url, retry=FAST, if_lost="none")
    assert lenient(["p"] * 2, ["a", "b"], answer=["1", "2"]) == [None, None]
    assert lenient.statuses == {"Unreachable": 2}
    with serving(lambda *_: error(404, "model_not_found")) as fake, pytest.raises(RequestRefused):
        TribunalReward("nobody", fake.url, if_lost="none")(["p"], ["a"])


Compute = Callable[..., Any]


def awaited(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(compute_score(*args, **kwargs))


@pytest.mark.parametrize("compute", [awaited, compute_score_sync])
def test_verl(compute: Compute) -> None:
    with serving(some_fail) as fake:
        how: dict[str, Any] = {"url": fake.url, "scorer": {"gsm8k": "math"}}
        score = compute(
            "gsm8k", "x", "3", {"q": "?"}, prompt_key="q", **how, reward_router_address=1
        )
        assert score == {
            "score": 3.0,
            "measured": 1.0,
            "status": "ok",
            "label": "equal",
            "reason": "",
        }
        assert fake.asked[0]["model"] == "math"
        assert fake.asked[0]["inputs"][0]["prompt"] == "?"
        with pytest.raises(NotMeasured, match="bad_reference"):
            compute("gsm8k", "x", "", **how)
        failed = compute("gsm8k", "x", "", failed_score=-1, **how)
        assert (failed["score"], failed["measured"]) == (-1.0, 0.0)
        assert (failed["status"], list(failed)) == ("bad_reference", list(score))
        with pytest.raises(ValueError, match="data_source 'aime'"):
            compute("aime", "x", "3", **how)
        with pytest.raises(ValueError, match="no scorer"):
            compute("gsm8k", "x", "3", url=fake.url)


@pytest.mark.parametrize("compute", [awaited, compute_score_sync])
def test_verl_waits_for_a_full_server(compute: Compute) -> None:
    def full(number: int, asked: Asked) -> Reply:
        if number < 3:
            return error(503, "overloaded", retry_after_ms="5")
        return some_fail(number, asked)

    with serving(full) as fake:
        assert compute("d", "x", "3", scorer="math", url=fake.url)["score"] == 3.0
        assert len(fake.asked) == 4


def test_keys_are_those_that_were_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUNAL_API_KEY", "theirs")
    assert environment.settings("http://localhost").api_key == "theirs"
    assert environment.settings("http://localhost", " ours\n").api_key == "ours"
    assert environment.settings("http://localhost", "").api_key is None


def test_verl_refusals_are_never_a_number() -> None:
    with serving(lambda *_: error(404, "model_not_found")) as fake, pytest.raises(RequestRefused):
        awaited("d", "x", "3", scorer="nobody", url=fake.url, failed_score=0.0)


@pytest.mark.parametrize("compute", [awaited, compute_score_sync])
def test_verl_wrong_keys_are_never_a_number(
    compute: Compute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUNAL_PATIENCE", "0.1")
    with serving(some_fail) as fake:
        how: dict[str, Any] = {"scorer": "math", "url": fake.url, "failed_score": 0.0}
        monkeypatch.setenv("TRIBUNAL_API_KEY", " secret\n")
        assert compute("d", "x", "3", **how)["score"] == 3.0
        assert fake.headers[0]["authorization"] == "Bearer secret"
        monkeypatch.setenv("TRIBUNAL_API_KEY", "sec\nret")
        with pytest.raises(ValueError, match="api_key: must be"):
            compute("d", "x", "3", **how)
        assert len(fake.asked) == 1


def test_openrlhf(monkeypatch: pytest.MonkeyPatch) -> None:
    def rewards(_: int, asked: Asked) -> Reply:
        if "" in asked["labels"]:
            told = "query[0]: bad_reference: reference_missing: none"
            return Reply(b'{"detail": "%b"}' % told.encode(), 422)
        body = b'{"rewards": [2.0], "scores": [0.5], "extra_logs": {}}'
        return Reply(body)

    with serving(rewards) as fake:
        monkeypatch.setenv("TRIBUNAL_URL", fake.url)
        monkeypatch.setenv("TRIBUNAL_SCORER", "a b/c")
        given = reward_func(["q"], ["p"], [4])
        assert [float(given["rewards"][0]), float(given["scores"][0])] == [2.0, 0.5]
        assert {name: float(log[0]) for name, log in given["extra_logs"].items()} == {
            "score": 0.5,
            "measured": 1.0,
        }
        assert fake.asked[0] == {"query": ["q"], "prompts": ["p"], "labels": ["4"]}
        with pytest.raises(NotMeasured, match=r"query\[0\]: reference_missing"):
            reward_func(["q"], ["p"], [""])
        monkeypatch.setenv("TRIBUNAL_FAILED_REWARD", "0")
        stand_in = reward_func(["q"], ["p"], [""])
        assert float(stand_in["rewards"][0]) == 0.0
        assert float(stand_in["extra_logs"]["measured"][0]) == 0.0


def test_openrlhf_samples_keep_their_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    def rewards(_: int, asked: Asked) -> Reply:
        numbers = []
        for at, (query, prompt, label) in enumerate(zip(*asked.values(), strict=True)):
            if (query, prompt) != (f"q{label}", f"p{label}"):
                return error(404, "mixed_up")
            if not label.isdigit():
                status = 422 if label == "" else 502
                told = f"query[{at}]: bad_reference: reference_missing"
                return Reply(json.dumps({"detail": told}).encode(), status)
            numbers.append(float(label))
        return Reply(json.dumps({"rewards": numbers, "scores": numbers}).encode())

    def asked_of(script: Script, labels: list[str]) -> tuple[list[float], list[float], int]:
        with serving(script) as fake:
            monkeypatch.setenv("TRIBUNAL_URL", fake.url)
            queries, prompts = [[kind + label for label in labels] for kind in "qp"]
            given = reward_func(queries, prompts, labels)
        numbers = [float(one) for one in given["rewards"]]
        assert [float(one) for one in given["scores"]] == numbers
        measured = [float(one) for one in given["extra_logs"]["measured"]]
        return numbers, measured, len(fake.asked)

    monkeypatch.setenv("TRIBUNAL_FAILED_REWARD", "-1")
    monkeypatch.setenv("TRIBUNAL_PATIENCE", "0")
    assert asked_of(rewards, ["4", ""]) == ([4.0, -1.0], [1.0, 0.0], 3)
    numbers, measured, _ = asked_of(rewards, ["1", "2", "", "4", "tool", "6", "7"])
    assert numbers == [1.0, 2.0, -1.0, 4.0, -1.0, 6.0, 7.0]
    assert measured == [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    # A server without room has no reward for any of them.
    full: Script = lambda *_: error(503, "overloaded", retry_after="9")  # noqa: E731
    assert asked_of(full, ["1", "2"]) == ([-1.0, -1.0], [0.0, 0.0], 1)


def test_loops_have_clients_of_their_own() -> None:
    async def several(url: str) -> list[float]:
        asked = [compute_score("d", "x", str(at), scorer="m", url=url) for at in range(20)]
        return [score["score"] for score in await asyncio.gather(*asked)]

    with serving(some_fail) as fake, ThreadPoolExecutor(3) as threads:
        for scores in threads.map(lambda _: asyncio.run(several(fake.url)), range(6)):
            assert scores == [float(at) for at in range(20)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_forks_have_connections_of_their_own() -> None:
    with serving(some_fail) as fake:
        reward = TribunalReward("math", fake.url)
        assert reward(["p"], ["a"], answer=["1"]) == [1.0]
        child = os.fork()
        if child == 0:
            good = reward(["p"], ["a"], answer=["2"]) == [2.0]
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert reward(["p"], ["a"], answer=["3"]) == [3.0]
        assert len(fake.connections) == 2
    assert shared.client(reward.settings) is shared.client(reward.settings)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_while_a_client_is_made_has_clients_too(monkeypatch: pytest.MonkeyPatch) -> None:
    making = threading.Event()

    def slow(settings: Settings) -> Tribunal:
        making.set()
        time.sleep(0.2)
        return Tribunal(settings.url)

    monkeypatch.setattr(Tribunal, "of", slow)
    thread = threading.Thread(target=shared.client, args=(Settings(unused_url()),))
    thread.start()
    making.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends a child that waits for ever
        try:
            shared.client(Settings(unused_url()))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    # The parent has its lock back.
    shared.client(Settings(unused_url()))


def test_overloads_keep_their_words() -> None:
    script: Script = lambda *_: error(503, "overloaded", retry_after_ms="1")  # noqa: E731
    with serving(script) as fake, pytest.raises(Overloaded, match="told"):
        TribunalReward("math", fake.url, retry=FAST)(["p"], ["a"])


def test_no_trainer_is_imported() -> None:
    heavy = [
        "numpy",
        "openai",
        "openrlhf",
        "pyarrow",
        "ray",
        "torch",
        "transformers",
        "trl",
        "verl",
    ]
    ours = ["trl", "verl", "openrlhf", "ray", "pool", "local", "shared"]
    modules = ", ".join(["tribunal_client", *(f"tribunal_client.{name}" for name in ours)])
    check = f"import sys, {modules}; sys.exit(' '.join(set({heavy}) & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", check], check=True)
