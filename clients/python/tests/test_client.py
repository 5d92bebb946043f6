"""Requests and verdicts, of both clients."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from fake import Asked, Reply, Script, echo, error, ok, result, serving
from tribunal_client import (
    AsyncTribunal,
    MalformedReply,
    Ranked,
    RequestRefused,
    Retry,
    Tribunal,
    Verdict,
    reading,
)

ROWS = [{"response": "r", "reference": at} for at in range(25)]


def both(
    script: Script, rows: list[Any], **settings: Any
) -> tuple[list[Verdict], list[Asked], list[tuple[int, int]]]:
    """Verdicts, requests and progress, which have to be those of the other client too."""
    told: list[list[tuple[int, int]]] = [[], []]
    with serving(script) as fake, Tribunal(fake.url, **settings) as tribunal:
        waited = tribunal.score_many("math", rows, progress=lambda *at: told[0].append(at))
        assert fake.most_at_once <= tribunal.settings.concurrency
        asked = list(fake.asked)

    async def later(url: str) -> list[Verdict]:
        async with AsyncTribunal(url, **settings) as tribunal:
            progress = lambda *at: told[1].append(at)  # noqa: E731
            return await tribunal.score_many("math", rows, progress=progress)

    with serving(script) as fake:
        awaited = asyncio.run(later(fake.url))
        assert fake.most_at_once <= tribunal.settings.concurrency
        assert len(fake.asked) == len(asked)
    assert awaited == waited
    assert told[0] == told[1]
    return waited, asked, told[0]


def test_order_is_kept_whatever_comes_first() -> None:
    def uneven(number: int, asked: Asked) -> Reply:
        reply = echo(number, asked)
        reply.after = 0.05 * (number % 3 == 0)
        return reply

    verdicts, asked, told = both(uneven, ROWS, batch_size=4, concurrency=3)
    assert [verdict.score for verdict in verdicts] == [float(at) for at in range(25)]
    assert [verdict.id for verdict in verdicts] == [str(at) for at in range(25)]
    assert len(asked) == 7
    assert told == [(4, 25), (8, 25), (12, 25), (16, 25), (20, 25), (24, 25), (25, 25)]


def test_batches_have_bytes_too() -> None:
    rows = [{"response": "x" * size, "reference": 1} for size in (10, 900, 10, 2000, 10)]
    _, asked, _ = both(echo, rows, batch_bytes=1100, concurrency=1)
    assert [len(one["inputs"]) for one in asked] == [3, 1, 1]


def test_nothing_asked_nothing_sent() -> None:
    assert both(echo, []) == ([], [], [])


def test_connections_are_kept() -> None:
    with serving(echo) as fake, Tribunal(fake.url, batch_size=1, concurrency=2) as tribunal:
        for _ in range(3):
            tribunal.score_many("math", ROWS)
        assert len(fake.asked) == 75
        assert len(fake.connections) <= 2


def test_iterators_give_what_is_there() -> None:
    with serving(echo) as fake, Tribunal(fake.url, batch_size=5, concurrency=1) as tribunal:
        coming = tribunal.iter_many("math", ROWS)
        first = next(coming)
        assert first.score == 0.0
        assert len(fake.asked) == 1
        coming.close()
        assert len(fake.asked) == 1


def test_a_failure_ends_the_others() -> None:
    def second(number: int, asked: Asked) -> Reply:
        bad = any(one["reference"] == "7" for one in asked["inputs"])
        return error(422, "invalid_body", "inputs[2].reference") if bad else echo(number, asked)

    with serving(second) as fake:
        patient = Retry(tries=50, first_seconds=30.0)
        settings: Any = {"batch_size": 5, "retry": patient}
        with Tribunal(fake.url, **settings) as tribunal, pytest.raises(RequestRefused) as refused:
            tribunal.score_many("math", ROWS)
    assert refused.value.param == "inputs[7].reference"
    assert "inputs[7].reference" in str(refused.value)


def test_the_key_goes_along() -> None:
    with serving(echo) as fake, Tribunal(fake.url, api_key="secret") as tribunal:
        tribunal.score("math", "4", "4")
        assert fake.headers[0]["authorization"] == "Bearer secret"
        assert "secret" not in repr(tribunal.settings)


def test_only_ok_has_a_number() -> None:
    def mixed(_: int, asked: Asked) -> Reply:
        reason = {"code": "reference_missing", "detail": None}
        bad = result("1", status="bad_reference", score=None, reason=reason)
        return ok([result("0"), bad, result("2", score=0.0)])

    verdicts, _, _ = both(mixed, [{"response": "x"}] * 3)
    assert [verdict.score for verdict in verdicts] == [1.0, None, 0.0]
    assert [verdict.ok for verdict in verdicts] == [True, False, True]
    assert str(verdicts[1].reason) == "reference_missing"


STRANGE: list[bytes] = [
    json.dumps({"results": results}).encode()
    for results in [
        [],
        None,
        [None],
        [result("0"), result("1")],
        [result("1")],
        [result("0", score=None)],
        [result("0", score="1.0")],
        [result("0", score=True)],
        [result("0", status="refused")],
        [result("0", status=None)],
        [result("0", raw=[])],
        [result("0", label=3)],
        [result("0", steps=[{}])],
        [result("0", candidate={"text": "4", "span": [1], "count": 1, "source": "x"})],
        [result("0", candidates=[{"index": 0, "status": "abstain", "score": 0.0}])],
    ]
] + [
    b'{"results": [{"id": "0", "status": "ok", "score": NaN}]}',
    b'{"results": [{"id": "0", "status": "ok", "score": 1e999}]}',
    b'{"results": [{"id": "0", "status": "ok", "score": Infinity}]}',
    b'{"results": [{"id": "0", "status": "ok", "score": 1' + b"0" * 400 + b"}]}",
]


@pytest.mark.parametrize("body", STRANGE)
def test_no_number_is_made_of_a_strange_reply(body: bytes) -> None:
    with serving(lambda *_: Reply(body)) as fake, Tribunal(fake.url) as tribunal:
        with pytest.raises(MalformedReply):
            tribunal.score("math", "4", "4")
        assert len(fake.asked) == 1


def test_texts_arrive_as_they_are() -> None:
    texts = ["NaN", "", "\x00", "\u2028", "𝄞", '"\\', "x" * 1_000_000, "\ufffe"]
    rows = [{"response": text, "reference": "0"} for text in texts]
    _, asked, _ = both(echo, rows, concurrency=1)
    assert [one["response"] for one in asked[0]["inputs"]] == texts


def test_half_a_surrogate_is_one_row_s_trouble() -> None:
    rows = [*ROWS[:2], {"response": "\ud800", "reference": 1}, ROWS[3], {"response": "\udfff"}]
    verdicts, asked, told = both(echo, rows, batch_size=2, concurrency=1)
    assert [verdict.status for verdict in verdicts] == ["ok", "ok", "refused", "ok", "refused"]
    assert [verdict.score for verdict in verdicts] == [0.0, 1.0, None, 3.0, None]
    assert str(verdicts[2].reason).startswith("not_unicode: inputs[2]")
    assert [[one["id"] for one in body["inputs"]] for body in asked] == [["0", "1"], ["3"]]
    assert told == [(2, 5), (4, 5)]
    assert both(echo, [{"response": "\ud800"}])[0][0].status == "refused"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (4, "4"),
        (0.5, "0.5"),
        (-1, "-1"),
        (True, "true"),
        (10**30, str(10**30)),
        ([1, "2"], ["1", "2"]),
        ("4", "4"),
        ({"a": 1}, {"a": 1}),
        (float("nan"), ""),
    ],
)
def test_gold_answers_may_be_numbers(given: Any, sent: Any) -> None:
    with serving(lambda _, asked: ok([result(asked["inputs"][0]["id"])])) as fake:
        with Tribunal(fake.url) as tribunal:
            tribunal.score("math", "4", given)
        assert fake.asked[0]["inputs"][0]["reference"] == sent


@pytest.mark.parametrize(
    ("row", "kind", "place"),
    [
        ("text", TypeError, r"inputs\[1\]"),
        ({"respone": "x"}, ValueError, "'respone'"),
        ({"response": {"x"}}, TypeError, r"inputs\[1\]"),
        ({"metadata": {"x": float("nan")}}, ValueError, r"inputs\[1\]"),
    ],
)
def test_mistakes_of_callers_are_not_sent(row: Any, kind: type[Exception], place: str) -> None:
    with serving(echo) as fake, Tribunal(fake.url) as tribunal:
        with pytest.raises(kind, match=place):
            tribunal.score_many("math", [ROWS[0], row])
        assert fake.asked == []


def test_a_body_that_is_too_large_is_halved() -> None:
    def small(number: int, asked: Asked) -> Reply:
        size = sum(len(one["response"]) for one in asked["inputs"])
        return error(413, "body_too_large") if size > 20 else echo(number, asked)

    rows = [{"response": "x" * size, "reference": 1} for size in (5, 9, 30, 8)]
    verdicts, _, _ = both(small, rows, concurrency=1)
    assert [verdict.score for verdict in verdicts] == [1.0, 1.0, None, 1.0]
    assert verdicts[2].status == "refused"


@pytest.mark.parametrize(
    "bad", [{"url": "localhost:80"}, {"url": "ftp://x"}, {"batch_size": 0}, {"timeout": -1}]
)
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"url|batch_size|timeout"):
        Tribunal(**bad)


@pytest.mark.parametrize(
    "key", ["secret\n", "sec\r\nret", "sec ret", "s\u00e9cret", "secret\x7f", ""]
)
def test_keys_that_cannot_be_sent_are_told_without_them(key: str) -> None:
    with pytest.raises(ValueError, match="api_key: must be") as refused:
        Tribunal(api_key=key)
    assert "ret" not in str(refused.value)


def test_strange_replies_say_where() -> None:
    steps = [
        {"index": 0, "span": [0, 1], "label": "right"},
        {"index": 1, "span": [2], "label": "x"},
    ]
    body = json.dumps({"results": [result("0"), result("1", steps=steps)]}).encode()
    with (
        serving(lambda *_: Reply(body)) as fake,
        Tribunal(fake.url) as tribunal,
        pytest.raises(MalformedReply) as strange,
    ):
        tribunal.score_many("math", ROWS[:2])
    assert str(strange.value) == "results[1].steps[1].span: a span has two ends"


def mutated(value: Any, dice: random.Random) -> Any:
    """A reply with something else here and there."""
    if dice.random() < 0.03:
        return dice.choice([None, True, -1, 1e300, "ok", "", [], {}, [0.5], "NaN", 0.5])
    if isinstance(value, dict):
        return {name: mutated(one, dice) for name, one in value.items()}
    return [mutated(one, dice) for one in value] if isinstance(value, list) else value


def test_mutated_replies_give_sound_verdicts_or_none() -> None:
    candidate = {"text": "4", "span": [0, 1], "count": 1, "source": "boxed", "flags": ["fallback"]}
    reason = {"code": "equal", "detail": None}
    ranked = {"index": 0, "status": "ok", "score": 1.0, "candidate": candidate, "reason": reason}
    step = {"index": 0, "span": [0, 1], "label": "right", "score": 1.0}
    whole = result("0", candidate=candidate, candidates=[ranked], steps=[step], reason=reason)
    missing = result("1", status="bad_reference", score=None)
    dice, n_sound = random.Random(1), 0
    for _ in range(3000):
        body = json.dumps(mutated({"results": [whole, missing]}, dice)).encode()
        try:
            read = reading.verdicts(body, 2)
        except MalformedReply:
            continue
        n_sound += 1
        verdicts: list[Verdict | Ranked] = [*read, *(read[0].candidates or ())]
        for verdict in verdicts:
            assert (verdict.status == "ok") == (verdict.score is not None)
            assert verdict.score is None or isinstance(verdict.score, float)
    assert 300 < n_sound < 2700
