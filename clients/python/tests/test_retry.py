"""When requests are repeated, and when not."""

from __future__ import annotations

import pickle
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from fake import Reply, Script, echo, error, serving, unused_url
from tribunal_client import (
    MalformedReply,
    Overloaded,
    RequestRefused,
    Retry,
    ServerFailed,
    TimedOut,
    Tribunal,
    TribunalError,
    Unreachable,
    http,
)
from tribunal_client.retry import Attempts, retry_after

NEVER_ANSWERED = "and it has never answered: is its URL right?"
FAST = Retry(tries=4, total_seconds=60.0, first_seconds=0.01, longest_seconds=0.02)


def ask(script: Script, **settings: Any) -> tuple[Any, int]:
    """What comes of asking once: the score or the error; and the number of requests."""
    with serving(script) as fake:
        outcome: Any
        with Tribunal(fake.url, **{"retry": FAST, **settings}) as tribunal:
            try:
                outcome = tribunal.score("math", "4", 0.5).score
            except TribunalError as error:
                outcome = error
        return outcome, len(fake.asked)


def at_first(*replies: Reply) -> Script:
    """These, and then what was asked for."""
    return lambda number, asked: replies[number] if number < len(replies) else echo(number, asked)


BROKEN = [
    error(503, "overloaded", retry_after_ms="5"),
    error(503, "overloaded", retry_after="0"),
    error(503, "draining"),
    error(429, "rate_limit_exceeded", retry_after_ms="5", retry_after="9"),
    error(429, "rate_limit_exceeded", retry_after="tomorrow"),
    Reply(reset=True),
    Reply(b'{"results": [', announced=500),
    Reply(b"<html>busy</html>", 503),
]


@pytest.mark.parametrize("reply", BROKEN)
def test_passing_trouble_is_waited_out(reply: Reply) -> None:
    assert ask(at_first(reply, reply)) == (0.5, 3)


LASTING = [
    (error(404, "model_not_found", "model"), RequestRefused),
    (error(401, "unauthorized"), RequestRefused),
    (error(422, "invalid_body", "inputs[0].response"), RequestRefused),
    (error(500, "internal_error"), ServerFailed),
    (error(502, "tool_failed"), ServerFailed),
    (error(504, "deadline_passed"), ServerFailed),
    (Reply(b"", 302, {"location": "/elsewhere"}), RequestRefused),
    (Reply(b"not json"), MalformedReply),
    (Reply(b"[" * 100_000), MalformedReply),
    (Reply(b"\xff\xfe"), MalformedReply),
    (Reply(b"[]"), MalformedReply),
]


@pytest.mark.parametrize(("reply", "kind"), LASTING)
def test_lasting_trouble_is_told_at_once(reply: Reply, kind: type[TribunalError]) -> None:
    outcome, n_requests = ask(at_first(reply, reply))
    assert type(outcome) is kind
    assert n_requests == 1


def test_tries_have_an_end() -> None:
    full = error(503, "overloaded", retry_after_ms="1")
    outcome, n_requests = ask(lambda *_: full)
    assert isinstance(outcome, Overloaded)
    assert (outcome.retry_after, outcome.status, n_requests) == (0.001, 503, 4)
    outcome, n_requests = ask(lambda *_: Reply(reset=True))
    assert type(outcome) is Unreachable
    assert n_requests == 4


def test_a_wait_that_is_too_long_is_not_begun() -> None:
    outcome, n_requests = ask(lambda *_: error(503, "overloaded", retry_after="3600"))
    assert isinstance(outcome, Overloaded)
    assert (outcome.retry_after, n_requests) == (3600.0, 1)


class Clock:
    """Time that passes where it is waited for."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def tried(failure: Overloaded | Unreachable, *, answered: bool) -> tuple[float, str]:
    """How long a server is waited for that always fails so, and what is raised then."""
    clock = Clock()
    policy = Retry(total_seconds=300.0, unanswered_seconds=15.0)
    attempts = Attempts(policy, "http://here", lambda: answered, clock=clock, dice=lambda: 1.0)
    while True:
        try:
            clock.now += attempts.wait_after(failure)
        except TribunalError as error:
            return clock.now, str(error)


def test_a_server_that_never_answered_is_given_up_early(caplog: pytest.LogCaptureFixture) -> None:
    waited, said = tried(Unreachable("refused"), answered=False)
    assert 10.0 < waited <= 15.0
    assert said == f"http://here: refused (8 tries in {waited:.1f} s, {NEVER_ANSWERED})"
    notices = [record.getMessage() for record in caplog.records]
    assert 2 <= len(notices) <= 5
    assert all(notice.startswith("waiting for http://here: refused; try ") for notice in notices)
    full = Overloaded("full", status=503, retry_after=None)
    for waited, _ in (tried(Unreachable("refused"), answered=True), tried(full, answered=False)):
        assert 250.0 < waited <= 300.0
    caplog.clear()
    assert waits(Unreachable("x"), 0.0, 3) == [0.0, 0.0, 0.0]
    assert not caplog.records


def test_time_before_the_first_try_ends_is_not_counted() -> None:
    clock = Clock()
    policy = Retry(total_seconds=300.0)
    attempts = Attempts(policy, "http://here", clock=clock, dice=lambda: 0.0)
    full = Overloaded("full", status=503, retry_after=200.0)
    # Many requests of this client were waiting for a connection.
    clock.now = 1000.0
    assert attempts.wait_after(full) == 200.0
    clock.now += 200.0
    with pytest.raises(Overloaded, match=r"2 tries in 200\.0 s"):
        attempts.wait_after(full)


@pytest.mark.parametrize("kind", [httpx.LocalProtocolError, httpx.UnsupportedProtocol])
def test_what_cannot_be_sent_is_not_tried_again(kind: type[httpx.TransportError]) -> None:
    failure = http.lost(kind("Illegal header value b'Bearer secret'"))
    assert type(failure) is TribunalError
    assert not failure.passing
    assert str(failure) == f"the request cannot be sent: {kind.__name__}"


def test_slow_is_not_gone() -> None:
    outcome, n_requests = ask(lambda *_: Reply(after=2.0), timeout=0.2)
    assert type(outcome) is TimedOut
    assert n_requests == 1


def test_nobody_listens() -> None:
    with Tribunal(unused_url(), retry=FAST) as tribunal, pytest.raises(Unreachable):
        tribunal.score("math", "4", "4")


def test_refusals_say_what_and_where() -> None:
    outcome, _ = ask(at_first(error(422, "invalid_body", "inputs[0].response")))
    assert (outcome.status, outcome.code, outcome.param, outcome.type) == (
        422,
        "invalid_body",
        "inputs[0].response",
        "t",
    )


def test_errors_cross_processes() -> None:
    for sent in (
        RequestRefused("m", status=404, code="c", param="p", type="t"),
        Overloaded("m", status=503, retry_after=1.5),
        ServerFailed("m", status=500, code=None),
    ):
        got = pickle.loads(pickle.dumps(sent))  # noqa: S301
        assert (type(got), str(got), got.__dict__) == (type(sent), str(sent), sent.__dict__)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "inf", "retry-after": "2"}, 2.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
    ],
)
def test_named_waits(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_is_a_wait() -> None:
    assert (retry_after({"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"}) or 0.0) > 1e8


def waits(failure: Overloaded | Unreachable, dice: float, n_waits: int) -> list[float]:
    policy = Retry(longest_seconds=20.0)
    attempts = Attempts(policy, "s", clock=lambda: 0.0, dice=lambda: dice)
    return [attempts.wait_after(failure) for _ in range(n_waits)]


def test_full_jitter_doubles_up_to_a_bound() -> None:
    expected = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 20.0, 20.0]
    assert waits(Unreachable("x"), 1.0, 10) == pytest.approx(expected)
    assert waits(Unreachable("x"), 0.0, 3) == [0.0, 0.0, 0.0]


def test_a_named_wait_is_never_cut_short() -> None:
    full = Overloaded("x", status=503, retry_after=2.0)
    assert waits(full, 0.0, 3) == [2.0, 2.0, 2.0]
    assert waits(full, 1.0, 1) == [4.0]
    assert waits(Overloaded("x", status=503, retry_after=0.0), 1.0, 2) == [0.1, 0.1]


@pytest.mark.parametrize("bad", [{"tries": 0}, {"total_seconds": float("nan")}])
def test_policies_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Retry"):
        Retry(**bad)
