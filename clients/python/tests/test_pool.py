"""Many servers: every input gets one verdict, whatever becomes of them."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import pytest

from fake import Asked, Fake, Reply, Script, echo, error, serving, unused_url
from tribunal_client import RequestRefused, Retry
from tribunal_client.pool import Pool
from tribunal_client.ray import TribunalScorer

FAST = Retry(tries=3, total_seconds=60.0, first_seconds=0.01, longest_seconds=0.02)
ROWS = [{"response": "r", "reference": at} for at in range(60)]
SCORES = [float(at) for at in range(60)]


def dies_after(n_requests: int) -> Script:
    def script(number: int, asked: Asked) -> Reply:
        return echo(number, asked) if number < n_requests else Reply(reset=True)

    return script


def judged(*scripts: Script, **settings: Any) -> tuple[list[Any], list[Fake]]:
    with ExitStack() as servers:
        fakes = [servers.enter_context(serving(script)) for script in scripts]
        given = {"retry": FAST, "batch_size": 5, "concurrency": 3, **settings}
        pool = Pool([fake.url for fake in fakes], **given)
        verdicts = pool.score_many("math", ROWS)
        pool.close()
    assert [verdict.id for verdict in verdicts] == [str(at) for at in range(60)]
    return verdicts, fakes


def full(*_: Any) -> Reply:
    return error(503, "overloaded", retry_after_ms="3600000")


WELL: list[list[Script]] = [
    [echo],
    [echo, echo, echo],
    [echo, dies_after(0)],
    [dies_after(2), echo],
    [dies_after(2), dies_after(5), echo],
    [full, echo],
    [lambda *_: error(500, "internal_error"), echo],
    [lambda *_: Reply(b"<html>"), echo],
]


@pytest.mark.parametrize("scripts", WELL)
def test_one_that_is_well_is_enough(scripts: list[Script]) -> None:
    verdicts, _ = judged(*scripts)
    assert [verdict.score for verdict in verdicts] == SCORES


def test_servers_take_turns() -> None:
    _, fakes = judged(echo, echo, concurrency=1)
    assert [len(fake.asked) for fake in fakes] == [6, 6]


def test_who_failed_comes_last() -> None:
    _, (dead, well) = judged(dies_after(0), echo, concurrency=1)
    assert (len(dead.asked), len(well.asked)) == (1, 12)


def test_rounds_go_on_until_somebody_comes_back() -> None:
    def back_later(number: int, asked: Asked) -> Reply:
        return Reply(reset=True) if number < 2 else echo(number, asked)

    verdicts, _ = judged(back_later, concurrency=1)
    assert [verdict.score for verdict in verdicts] == SCORES


@pytest.mark.parametrize(
    ("script", "status"),
    [
        (dies_after(0), "unreachable"),
        (lambda *_: error(503, "overloaded", retry_after_ms="1"), "overloaded"),
        (full, "overloaded"),
        (lambda *_: error(500, "internal_error"), "server_error"),
        (lambda *_: Reply(b"<html>"), "malformed_reply"),
    ],
)
def test_nobody_left_is_a_status(script: Script, status: str) -> None:
    verdicts, _ = judged(script)
    assert {(verdict.status, verdict.score) for verdict in verdicts} == {(status, None)}


def test_nobody_there_is_a_status() -> None:
    pool = Pool([unused_url(), unused_url()], retry=FAST)
    assert pool.score_many("math", ROWS[:1])[0].status == "unreachable"


def test_refusals_are_the_caller_s() -> None:
    with pytest.raises(RequestRefused):
        judged(lambda *_: error(404, "model_not_found"), echo)
    with pytest.raises(ValueError, match="urls"):
        Pool([])


@pytest.mark.parametrize(
    ("row", "kind", "n_asked"),
    [
        ({"response": "r", "reference": "bad"}, RequestRefused, 9),
        ({"respone": "r"}, ValueError, 0),
        ({"metadata": {"x": float("nan")}}, ValueError, 0),
        ("text", TypeError, 0),
    ],
)
def test_errors_name_the_row_of_the_whole_list(
    row: Any, kind: type[Exception], n_asked: int
) -> None:
    def script(number: int, asked: Asked) -> Reply:
        bad = [at for at, one in enumerate(asked["inputs"]) if one["reference"] == "bad"]
        if bad:
            return error(422, "invalid_body", f"inputs[{bad[0]}].reference")
        return echo(number, asked)

    with serving(script) as fake:
        pool = Pool([fake.url], batch_size=5, concurrency=1)
        with pytest.raises(kind, match=r"inputs\[43\]") as told:
            pool.score_many("math", [*ROWS[:43], row])
        assert len(fake.asked) == n_asked
    assert getattr(told.value, "param", "inputs[43].reference") == "inputs[43].reference"


def test_rows_that_cannot_be_sent_have_their_places() -> None:
    with serving(echo) as fake:
        pool = Pool([fake.url], batch_size=5)
        half = {"response": "\ud800"}
        rows: list[dict[str, Any]] = [*ROWS[:43], half, ROWS[44], half]
        verdicts = pool.score_many("math", rows)
    assert [verdict.score for verdict in verdicts] == [*SCORES[:43], None, 44.0, None]
    assert [verdict.id for verdict in verdicts] == [str(at) for at in range(46)]
    assert str(verdicts[43].reason).startswith("not_unicode: inputs[43]")


def test_threads_share_a_pool() -> None:
    with serving(echo) as one, serving(dies_after(3)) as other:
        pool = Pool([one.url, other.url], retry=FAST, batch_size=7)
        outcomes: list[list[float | None]] = []

        def work() -> None:
            outcomes.append([verdict.score for verdict in pool.score_many("math", ROWS)])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == [SCORES] * 4


def test_ray_tables() -> None:
    pa = pytest.importorskip("pyarrow")
    with serving(echo) as fake:
        scorer = TribunalScorer("math", [fake.url], columns={"text": "response", "a": "reference"})
        table = pa.table({"text": ["x", "y"], "a": [1, 2], "id": [7, 8]})
        scored = scorer(table)
        assert scored.column("score").to_pylist() == [1.0, 2.0]
        assert scored.column("status").to_pylist() == ["ok", "ok"]
        assert scored.column("id").to_pylist() == [7, 8]
        assert scorer(table.slice(0, 0)).num_rows == 0
        assert scorer(table.slice(0, 0)).schema == scored.schema
        n_asked = len(fake.asked)
        with pytest.raises(ValueError, match="there is a column 'score' already"):
            scorer(scored)
        assert len(fake.asked) == n_asked


def test_ray_arrays() -> None:
    np = pytest.importorskip("numpy")
    with serving(echo) as fake:
        scorer = TribunalScorer("math", [fake.url, unused_url()], prefix="t_", retry=FAST)
        batch = {"response": np.array(["x", "\ud800"]), "reference": np.array([1, 2])}
        scored = scorer(batch)
        assert list(scored["t_score"]) == [1.0, None]
        assert list(scored["t_status"]) == ["ok", "refused"]
        assert scored["response"] is batch["response"]
        with pytest.raises(ValueError, match="there is a column 't_label' already"):
            scorer({**batch, "t_label": np.array(["a", "b"])})
    with pytest.raises(ValueError, match="columns"):
        TribunalScorer("math", ["http://x"], columns={"a": "respones"})
