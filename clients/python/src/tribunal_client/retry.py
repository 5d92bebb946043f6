"""When to ask again, and when to give up. Clock and dice are arguments."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from .errors import Overloaded, TimedOut, Unreachable

_log = logging.getLogger("tribunal_client")
SILENT_SECONDS = 1.0
"""Waiting this long in all is said, and again with each doubling of the time."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long a request is tried. A scoring request can be repeated without harm."""

    tries: int = 200
    """Requests at most, the first included."""
    total_seconds: float = 300.0
    """No try begins later than this after the first has failed."""
    unanswered_seconds: float = 15.0
    """The same where the server has never answered: its address may be wrong."""
    first_seconds: float = 0.1
    """Upper end of the first wait where the server names none; it doubles with each try."""
    longest_seconds: float = 20.0
    """Upper end of the longest such wait."""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError("Retry.tries: at least 1")
        for name in ("total_seconds", "unanswered_seconds", "first_seconds", "longest_seconds"):
            seconds = getattr(self, name)
            if not (math.isfinite(seconds) and seconds >= 0):
                raise ValueError(f"Retry.{name}: {seconds} is not a time")


NEVER = Retry(tries=1)
"""One try and no other."""


class Attempts:
    """The tries of one request.

    Args:
        policy: how often and how long.
        server: what is waited for, in messages.
        answered: whether the server has ever answered.
        clock: seconds.
        dice: chance, from 0 to 1.
    """

    def __init__(
        self,
        policy: Retry,
        server: str,
        answered: Callable[[], bool] = lambda: True,
        *,
        clock: Callable[[], float] = time.monotonic,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._server = server
        self._answered = answered
        self._clock = clock
        self._dice = dice
        self._made = 0
        self._begun = 0.0  # when the first try failed
        self._next_notice = SILENT_SECONDS

    def wait_after(self, failure: Overloaded | Unreachable) -> float:
        """Seconds to wait before the next try.

        Raises:
            Overloaded: the failure, where no other try is due.
            Unreachable: the same.
        """
        self._made += 1
        if self._made == 1:
            # Not before: the first try may have waited long for a free connection of this client.
            self._begun = self._clock()
        # A server that is still at work would be given the same work twice.
        if self._made >= self._policy.tries or isinstance(failure, TimedOut):
            raise self._final(failure)
        named = failure.retry_after if isinstance(failure, Overloaded) else None
        wait = self._backoff() if named is None else named + self._spread(named)
        limit = self._limit(failure)
        waited = self._clock() - self._begun
        if waited + wait > limit:
            raise self._final(failure)
        if waited + wait >= self._next_notice:
            self._next_notice = 2.0 * (waited + wait)
            _log.warning(
                "waiting for %s: %s; try %d follows in %.1f s, none after another %.0f s",
                *(self._server, str(failure), self._made + 1, wait, limit - waited),
            )
        return wait

    def _limit(self, failure: Overloaded | Unreachable) -> float:
        total = self._policy.total_seconds
        if isinstance(failure, Unreachable) and not self._answered():
            return min(total, self._policy.unanswered_seconds)
        return total

    def _final(self, failure: Overloaded | Unreachable) -> Overloaded | Unreachable:
        """The failure with what was tried."""
        if self._policy.tries == 1:
            return failure
        seconds = self._clock() - self._begun
        tries = "try" if self._made == 1 else "tries"
        never = "" if self._answered() else ", and it has never answered: is its URL right?"
        tried = f"{self._made} {tries} in {seconds:.1f} s{never}"
        failure.args = (f"{self._server}: {failure} ({tried})", *failure.args[1:])
        return failure

    def _spread(self, named: float) -> float:
        """Clients that were refused together come back apart, over as long as they have waited."""
        return max(named, self._policy.first_seconds) * self._dice()

    def _backoff(self) -> float:
        """Full jitter: anything up to a bound that doubles, so that nobody keeps step."""
        doublings = min(self._made - 1, 30)
        bound = min(self._policy.longest_seconds, self._policy.first_seconds * 2.0**doublings)
        return bound * self._dice()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply asks to wait: of `retry-after-ms`, else of `retry-after`."""
    millis = _amount(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000.0
    named = headers.get("retry-after")
    seconds = _amount(named)
    return seconds if seconds is not None or named is None else _until(named)


def _amount(written: str | None) -> float | None:
    try:
        amount = float(written) if written is not None else None
    except ValueError:
        return None
    return amount if amount is not None and math.isfinite(amount) and amount >= 0.0 else None


def _until(date: str) -> float | None:
    """Seconds until an HTTP date, which proxies send in the place of a number."""
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=timezone.utc)
    return max(0.0, (then - datetime.now(timezone.utc)).total_seconds())
