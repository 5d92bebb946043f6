"""Many servers of the same scorers, of which some may be full or gone.

A verdict is a function of its input, so whoever gives it gives the same one: requests go round the
servers, and one that fails is asked of the next. Every input gets exactly one verdict. One that no
server would judge in time gets a status that says so, and no number.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from . import inputs
from .client import Tribunal
from .errors import MalformedReply, Overloaded, ServerFailed, TimedOut, TribunalError
from .http import Given
from .inputs import Batch, Input, Options
from .retry import NEVER, Attempts, Retry
from .verdict import Verdict, unmeasured

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Pool:
    """Servers that are asked in turn.

    Args:
        urls: where they listen.
        cooldown: seconds for which a server that failed is asked last.
        settings: see `Settings`. `retry` is for the pool as a whole: a try is a round of all
            servers, and `concurrency` is the number of requests under way over all of them.
    """

    def __init__(
        self, urls: Sequence[str], *, cooldown: float = 5.0, **settings: Unpack[Given]
    ) -> None:
        if not urls:
            raise ValueError("urls: a pool needs a server")
        self._retry = settings.get("retry", Retry())
        single: Given = {**settings, "retry": NEVER}
        self._servers = [Tribunal(url, **single) for url in urls]
        self._settings = self._servers[0].settings
        self._named_servers = ", ".join(urls)
        self._cooldown = cooldown
        # Servers that failed, and until when they come last.
        self._failed: dict[Tribunal, float] = {}
        self._lock = threading.Lock()
        # Workers that begin together do not begin with the same server.
        self._turn = itertools.count(random.randrange(len(urls)))

    def close(self) -> None:
        """Closes the connections."""
        for server in self._servers:
            server.close()

    def score_many(
        self,
        model: str,
        rows: Iterable[Input | Mapping[str, Any]],
        *,
        options: Options | None = None,
    ) -> list[Verdict]:
        """A verdict on each input, in order.

        Raises:
            RequestRefused: a server refuses the request itself; all of them would.
            TypeError: an input is not a mapping, or holds what JSON does not have.
            ValueError: an input has an unknown field, or a number that is not finite.
        """
        # One plan of the whole list, so that errors name the row by its place in it.
        plan = inputs.plan(rows, self._settings.batch_size, self._settings.batch_bytes)
        verdicts: list[Verdict] = []
        with ThreadPoolExecutor(self._settings.concurrency, "tribunal-pool") as threads:
            judged = threads.map(lambda batch: self._judge(model, batch, options), plan.batches)
            for batch, answers in zip(plan.batches, judged, strict=True):
                verdicts += plan.joined(len(verdicts), batch, answers)
        return verdicts + plan.rest(len(verdicts))

    def _judge(self, model: str, batch: Batch, options: Options | None) -> list[Verdict]:
        attempts = Attempts(self._retry, self._named_servers, self._has_answered)
        while True:
            failure = None
            for server in self._in_turn():
                try:
                    return server._ask(model, batch, options)
                except TribunalError as error:
                    if not error.passing:
                        raise
                    self._note(server, error)
                    failure = _worse(failure, error)
            try:
                wait = attempts.wait_after(_waited_for(failure))
            except TribunalError:
                status = _status(failure)
                return [unmeasured(str(row.id), status, status, str(failure)) for row in batch]
            time.sleep(wait)

    def _has_answered(self) -> bool:
        return any(server.answered for server in self._servers)

    def _in_turn(self) -> Iterator[Tribunal]:
        """Each server once, from the next in turn on; those that failed lately come last."""
        begin = next(self._turn) % len(self._servers)
        order = self._servers[begin:] + self._servers[:begin]
        now = time.monotonic()
        with self._lock:
            failed = {server for server, until in self._failed.items() if until > now}
        return iter(sorted(order, key=failed.__contains__))

    def _note(self, server: Tribunal, error: TribunalError) -> None:
        # A server that is full is well, and says itself when to come back.
        if not isinstance(error, Overloaded):
            with self._lock:
                self._failed[server] = time.monotonic() + self._cooldown


def _worse(one: TribunalError | None, other: TribunalError) -> TribunalError:
    """Of the failures of a round, the one to go by: the full server that has room soonest."""
    if not isinstance(one, Overloaded):
        return other
    if not isinstance(other, Overloaded) or other.retry_after is None:
        return one
    sooner = one.retry_after is None or other.retry_after < one.retry_after
    return other if sooner else one


def _waited_for(failure: TribunalError | None) -> Overloaded:
    """A round of failures as one failure of which another try may come."""
    named = failure.retry_after if isinstance(failure, Overloaded) else None
    return Overloaded(str(failure), status=503, retry_after=named)


def _status(failure: TribunalError | None) -> str:
    if isinstance(failure, Overloaded):
        return "overloaded"
    if isinstance(failure, TimedOut):
        return "timeout"
    if isinstance(failure, ServerFailed):
        return "server_error"
    return "malformed_reply" if isinstance(failure, MalformedReply) else "unreachable"
