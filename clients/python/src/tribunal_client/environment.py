"""Where a server is, for trainers that take a file and no arguments.

`TRIBUNAL_URL`, `TRIBUNAL_SCORER`, `TRIBUNAL_API_KEY` and `TRIBUNAL_PATIENCE`, the seconds for which
a server that is full or gone is asked again. They are read whenever a reward is asked for.
Space around a key is removed: files and secrets often end with a line break.
"""

from __future__ import annotations

import os

from .http import DEFAULT_URL, Settings
from .retry import Retry

URL = "TRIBUNAL_URL"
SCORER = "TRIBUNAL_SCORER"
API_KEY = "TRIBUNAL_API_KEY"
PATIENCE = "TRIBUNAL_PATIENCE"

TRAINER_CONNECTIONS = 64
"""Trainers ask for one sample at a time, and for many samples at once."""

MANY = 10_000
"""Tries, where it is the time that ends them."""


def settings(url: str | None = None, api_key: str | None = None) -> Settings:
    """Settings of what is given, and else of the environment; an empty key is no key."""
    key = os.environ.get(API_KEY, "") if api_key is None else api_key
    patience = os.environ.get(PATIENCE)
    seconds = float(patience) if patience else 0.0
    waiting = Retry(tries=MANY, total_seconds=seconds, unanswered_seconds=seconds)
    retry = waiting if patience else Retry()
    return Settings(
        url=url or os.environ.get(URL) or DEFAULT_URL,
        api_key=key.strip() or None,
        retry=retry,
        concurrency=TRAINER_CONNECTIONS,
    )


def scorer(given: str | None = None) -> str | None:
    """The scorer that is given, and else that of the environment."""
    return given or os.environ.get(SCORER) or None
