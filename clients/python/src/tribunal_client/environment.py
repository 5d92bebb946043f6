"""Where a server is, for trainers that take a file and no arguments.

`TRIBUNAL_URL`, `TRIBUNAL_SCORER` and `TRIBUNAL_API_KEY`, read whenever a reward is asked for.
"""

from __future__ import annotations

import os

from .http import DEFAULT_URL, Settings

URL = "TRIBUNAL_URL"
SCORER = "TRIBUNAL_SCORER"
API_KEY = "TRIBUNAL_API_KEY"

TRAINER_CONNECTIONS = 64
"""Trainers ask for one sample at a time, and for many samples at once."""


def settings(url: str | None = None, api_key: str | None = None) -> Settings:
    """Settings of what is given, and else of the environment."""
    return Settings(
        url=url or os.environ.get(URL) or DEFAULT_URL,
        api_key=api_key or os.environ.get(API_KEY) or None,
        concurrency=TRAINER_CONNECTIONS,
    )


def scorer(given: str | None = None) -> str | None:
    """The scorer that is given, and else that of the environment."""
    return given or os.environ.get(SCORER) or None
